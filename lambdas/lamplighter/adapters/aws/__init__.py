"""AWS, one service or one use of it a file."""
