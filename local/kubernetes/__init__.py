"""The real Kubernetes control plane: built, started, and its charts applied."""
