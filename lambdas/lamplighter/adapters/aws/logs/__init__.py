"""CloudWatch Logs: the lines of functions, and log groups themselves."""
