"""An imitation of EKS Auto Mode, which is closed source. It is none of AWS's code, and nobody compared it with AWS.

It follows the EKS user guide and the behaviour of the open Karpenter, which Auto Mode shares the API of. It imitates
static NodePools (`replicas`) on a NodeClass: claims through the API server, so that admission policies are real;
launches with the rights of the cluster's role; nodes, their life, their end with its grace, and the switch-off. It
imitates no scheduling: a NodePool without `replicas` starts nothing.
"""
