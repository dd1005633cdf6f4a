"""Windows, course calendars, skips, pauses and the curfew: which pools open when, and which do not."""
