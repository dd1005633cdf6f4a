"""Slack's messages about leases, kept as the ledger is."""
