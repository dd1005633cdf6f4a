"""`make test` and `make test-long`: which parts the suite has, and what runs beside what."""
