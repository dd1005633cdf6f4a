"""EKS managed node groups, the pure part: their names, evidence, shortage, failsafe and proof of zero.

adapters/capacity/node_group/ calls AWS.
"""
