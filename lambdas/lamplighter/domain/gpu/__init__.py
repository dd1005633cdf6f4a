"""GPUs as a node offers them: instance types, images, sharing, the operator and its settings."""
