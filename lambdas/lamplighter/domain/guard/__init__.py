"""What leases justify against what runs: the rules, a family a file."""
