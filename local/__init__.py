"""The embedded cloud: AWS, Kubernetes and a GPU fleet on this machine, on one virtual clock."""
