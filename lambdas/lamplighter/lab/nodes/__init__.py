"""Node groups of the lab that are no pools, and the images that any node group may have."""
