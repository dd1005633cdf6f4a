"""One-time schedules as values: those of leases, and the failsafe's. drift.py compares them with what exists."""
