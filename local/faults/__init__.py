"""The faults that can be switched on, by name."""
