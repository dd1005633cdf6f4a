"""The state machines, a workflow a file."""
