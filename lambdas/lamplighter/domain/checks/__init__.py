"""The ladder of GPU checks: what runs where, in which order, for how long, and what follows."""
