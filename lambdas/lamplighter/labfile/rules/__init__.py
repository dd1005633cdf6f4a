"""What no single key can tell: whether the parts of a lab fit each other and the world."""
