"""The monthly check of the account and the lab."""
