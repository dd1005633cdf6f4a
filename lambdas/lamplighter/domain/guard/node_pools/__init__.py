"""What the guard finds about NodePools, and about GPUs of the cluster that are in no pool."""
