"""Karpenter's real controller beside the embedded control plane: its build, its surroundings and its process."""
