"""A pool's nodes: what AWS and Kubernetes say about them, how many there should be, and why they are missing."""
