"""The `lamplighter` command, a verb a file, in the groups that `--help` shows."""
