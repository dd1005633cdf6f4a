"""The IAM statements about each kind of capacity. Functions and schedules ask `kinds`, and know no kind by name.

The constructs of each kind are in pool/.
"""
