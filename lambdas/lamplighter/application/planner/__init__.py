"""The planner: it turns windows into leases and schedules, 36 hours ahead."""
