"""Auto Scaling groups."""
