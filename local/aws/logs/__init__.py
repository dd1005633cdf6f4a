"""CloudWatch Logs: what functions write, and the filter patterns that find it again."""
