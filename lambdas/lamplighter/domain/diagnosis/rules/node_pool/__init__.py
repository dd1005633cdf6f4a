"""Rules for pools that a NodePool sizes, of Karpenter or of EKS Auto Mode, by the object that they judge.

Before launches are judged: the controller, the NodeClass, and the launch bar. Beside them: refused launches, nodes that
never register, instance types, and initialization. At the end: nodes that cannot leave.
"""
