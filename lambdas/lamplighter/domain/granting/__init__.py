"""Decisions on leases: admission, granting, extending, following a window, handing on and closing."""
