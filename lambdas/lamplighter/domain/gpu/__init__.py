"""GPUs as a node offers them: instance types, sharing, the operator and its settings."""
