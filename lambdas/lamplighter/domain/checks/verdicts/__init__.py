"""What a tool's output says: passed, failed or not proven."""
