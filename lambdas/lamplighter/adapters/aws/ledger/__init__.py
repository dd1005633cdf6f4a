"""The ledger in DynamoDB: one idea a file, joined in ledger.py."""
