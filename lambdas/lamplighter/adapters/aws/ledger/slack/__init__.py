"""What the ledger keeps of Slack's messages."""
