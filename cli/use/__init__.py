"""The verbs about a lease: open, extend, close, keep, leases."""
