"""A fast AWS and Kubernetes in memory, under our real handlers, adapters and state machines.

It stands for the outside alone: nothing of ours is replaced. A call that it does not know fails by its name.
"""
