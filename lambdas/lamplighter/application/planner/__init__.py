"""Windows become leases and schedules, 36 hours ahead."""
