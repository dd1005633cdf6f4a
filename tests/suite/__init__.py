"""`make test` and `make test-long`: the parts of the suite, and which of them run at the same time."""
