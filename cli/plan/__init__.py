"""Verbs before a window: check, simulate, windows, skip, pause, resume, adopt."""
