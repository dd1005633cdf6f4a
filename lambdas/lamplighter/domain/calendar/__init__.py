"""Windows, course calendars, skips and pauses: which pools open when, and which do not."""
