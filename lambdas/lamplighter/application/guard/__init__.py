"""A sweep: what the guard reads of every pool, and what it does about each breach."""
