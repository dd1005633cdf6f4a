"""NVIDIA's and our figures about GPUs: images of checks, thresholds, MIG slices, the ClusterPolicy's schema."""
