"""Pools that are NodePools, of Karpenter or of EKS Auto Mode: what a deploy makes of them in AWS and in Kubernetes.

launch_bar.py has what all NodePools of a lab share, node_pool.py each of them.
"""
