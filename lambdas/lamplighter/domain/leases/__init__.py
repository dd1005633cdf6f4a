"""Leases: granting, extending, following a window, closing, and the progress of a warm-up."""
