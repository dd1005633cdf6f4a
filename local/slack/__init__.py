"""Slack, as the embedded cloud plays it."""
