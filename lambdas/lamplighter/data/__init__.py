"""Data of others with its source, and the texts; a file of data has its reader beside it."""
