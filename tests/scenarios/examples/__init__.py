"""The labs of examples/ on the embedded cloud: each GPU pool is opened, proven and closed."""
