"""`make quick`: the checks, and the tests nearest to a change, within a minute."""
