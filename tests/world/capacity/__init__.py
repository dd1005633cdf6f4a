"""What starts and ends the machines of a world's pools: one kind of capacity at a time."""
