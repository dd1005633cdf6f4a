"""The messages in Slack about leases, kept in line with the ledger."""
