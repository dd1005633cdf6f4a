"""What is deployed, one capability a file."""
