"""A request of Slack: its signature, who asks, and what is meant."""
