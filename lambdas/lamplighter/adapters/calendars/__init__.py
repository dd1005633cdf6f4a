"""Course calendars: fetched, read, kept."""
