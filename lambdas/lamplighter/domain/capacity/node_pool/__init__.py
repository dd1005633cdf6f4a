"""Pools that are NodePools: Karpenter starts and ends their nodes, its own release or that of EKS Auto Mode."""
