"""A fast AWS and Kubernetes in memory, under our real handlers, adapters and state machines.

It replaces only the outside, and none of our code. A call that it does not know fails with its name.
docs/explanation/embedded-cloud.md says what this imitation, moto and the embedded cloud are each for.
"""
