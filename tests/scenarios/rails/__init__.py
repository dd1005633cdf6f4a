"""Each way to zero of each kind of capacity, alone."""
