"""The audit trail: its entries, what the steps write into it, and `why`, which reads it."""
