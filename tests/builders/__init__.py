"""The makers of what many tests begin with: a lease, and what a sweep knows. A test says only what it is about."""
