"""Schedules as values: a lease's, the failsafe's, and what has drifted."""
