"""A sweep: what is read of every pool, and what is done about each breach."""
