"""Leases: granted, extended, followed, closed, and how far their warm-up has come."""
