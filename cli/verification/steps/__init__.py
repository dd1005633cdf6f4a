"""One file for each step of `lamplighter verify`."""
