"""Slack's web API, and the app's secrets."""
