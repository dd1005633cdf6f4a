"""Slack in the embedded cloud."""
