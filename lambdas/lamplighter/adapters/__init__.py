"""The outside world, one system a folder: its errors become ours here, once."""
