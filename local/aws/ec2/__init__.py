"""EC2 instances, networks, and the faults of both."""
