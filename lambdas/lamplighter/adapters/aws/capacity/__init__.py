"""EKS node groups, Auto Scaling groups, EC2 instances and other AWS resources of a pool's nodes."""
