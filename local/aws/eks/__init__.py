"""EKS: clusters, add-ons, node groups and their updates."""
