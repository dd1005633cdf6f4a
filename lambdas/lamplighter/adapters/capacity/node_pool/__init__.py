"""NodePools of Karpenter and of EKS Auto Mode: read and sized in Kubernetes, proven in EC2."""
