"""Leases as values: one lease, its terms, its owner's allowance, and the progress of its warm-up. granting/ decides."""
