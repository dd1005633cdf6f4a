"""The ledger in DynamoDB: one topic a file; ledger.py combines them."""
