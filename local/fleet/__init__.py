"""The GPU fleet: kubelets, pods and programs that the real control plane sees as nodes."""
