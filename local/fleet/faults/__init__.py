"""What can be wrong with a container, a device or a node."""
