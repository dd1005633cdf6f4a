"""The pages of the lab and of its receipts, drawn when the ledger moves."""
