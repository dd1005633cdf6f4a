"""The NodePools of a lab on a real API server, with Karpenter's own definitions and no controller."""
