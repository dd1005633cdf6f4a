"""`lamplighter blocks`: Capacity Blocks for ML that AWS offers for a pool, and the purchase of one."""
