"""A fast AWS and Kubernetes in memory, under our real handlers, adapters and state machines.

It stands for the outside alone: nothing of ours is replaced. A call that it does not know fails by its name.
docs/explanation/embedded-cloud.md says what this imitation, moto and the embedded cloud are each for.
"""
