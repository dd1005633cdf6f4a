"""The API server of a lab's cluster."""
