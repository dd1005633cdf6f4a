"""Signed requests from Slack: who asks, what they mean, and the answer."""
