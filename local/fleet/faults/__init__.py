"""Faults of a container, a device or a node."""
