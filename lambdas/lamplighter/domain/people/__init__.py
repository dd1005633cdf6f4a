"""People: who somebody in Slack is."""
