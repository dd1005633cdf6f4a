"""What the lab says aloud, by kind, in words."""
