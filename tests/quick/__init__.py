"""`make quick`: what can be known of a change within a minute: checks, and the tests nearest to it."""
