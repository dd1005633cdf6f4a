"""A pool's nodes: read from AWS, ordered as a whole size, metered and priced."""
