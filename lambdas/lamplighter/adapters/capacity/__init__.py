"""The port to a pool's nodes, the part that calls AWS and Kubernetes: a folder for each kind, chosen by kinds.py."""
