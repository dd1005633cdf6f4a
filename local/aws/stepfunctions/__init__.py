"""Step Functions: an interpreter of the Amazon States Language in virtual time."""
