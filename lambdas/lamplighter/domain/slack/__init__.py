"""What Slack shows and what it asks, as values: texts, blocks, threads, offers."""
