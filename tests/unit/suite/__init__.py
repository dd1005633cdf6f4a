"""The suite itself: its parts, what is left out, and what no test may do."""
