"""A pool's nodes: what AWS and Kubernetes say of them, what they should be, why they do not come."""
