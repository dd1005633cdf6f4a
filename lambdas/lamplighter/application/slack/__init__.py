"""A signed request of Slack: who asks, what is meant, what is answered."""
