"""The audit trail: its entries, the entries of a run's steps, and `why`, which reads the trail."""
