"""A pool's node group, its gate and its rails."""
