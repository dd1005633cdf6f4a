"""What starts nodes beside the pools (node groups, Karpenter, EKS Auto Mode), and the images of node groups."""
