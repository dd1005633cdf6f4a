"""Verbs of a lease: open, extend, close, keep, leases."""
