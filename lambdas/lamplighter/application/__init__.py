"""What entry points and the command line share: it reads through adapters, lets the domain decide, and writes."""
