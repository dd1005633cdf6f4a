"""Classes of windows: what a class's namespace shall have at an instant, and who may write it there."""
