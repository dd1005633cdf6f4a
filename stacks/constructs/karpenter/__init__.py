"""Karpenter's own release in the lab's cluster: its role, its interruption queue and its two charts.

A lab whose Karpenter runs already has none of this. The NodePools of the lab are in pool/node_pool/.
"""
