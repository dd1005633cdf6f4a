"""Decisions: pure functions from values to values, each with its reason."""
