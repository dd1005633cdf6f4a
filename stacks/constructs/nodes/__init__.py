"""Node groups of EKS: spec, launch template, user data and role. Some are pools, and some are always on."""
