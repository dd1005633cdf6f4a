"""The real Kubernetes control plane: its build, its start, and its charts."""
