"""EKS node groups, Auto Scaling groups, EC2 instances and what else belongs to a pool's nodes."""
