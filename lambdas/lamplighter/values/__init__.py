"""Values that every layer has, and how they are written: instants, zones, durations, counts, JSON."""
