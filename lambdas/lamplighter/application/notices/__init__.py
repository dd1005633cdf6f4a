"""What people are told of a run."""
