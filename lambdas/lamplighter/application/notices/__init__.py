"""The notices about a run."""
