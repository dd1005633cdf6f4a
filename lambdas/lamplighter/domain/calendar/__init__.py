"""Windows, course calendars, skips, pauses and the curfew: what opens when, and what will not."""
