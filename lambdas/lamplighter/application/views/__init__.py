"""Reads what people are shown: the command line, Slack and the pages call the same functions."""
