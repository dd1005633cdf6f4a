"""The failsafe of pools that are NodePools: the state machine `<lab>-failsafe`, which needs no function of ours.

Its rails are in kubernetes_rail.py and ec2_rail.py; both look for what is left with looking.py.
"""
