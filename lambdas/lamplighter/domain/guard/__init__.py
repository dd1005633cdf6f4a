"""The guard's rules: what leases justify, compared with what really runs. One family of rules a file."""
