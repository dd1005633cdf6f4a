"""Plans the windows of the calendar: the leases and schedules that they need, and simulations of them."""
