"""Leases as values: one lease, its terms, its curfew, its owner's allowance, and its warm-up. granting/ decides."""
