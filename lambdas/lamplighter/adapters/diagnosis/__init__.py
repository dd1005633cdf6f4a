"""Reads a pool's snapshot from AWS and Kubernetes, as their APIs print it, without secrets.

`collect` is the whole interface. Each system has a file, and a call that fails does not affect the others.
"""

from lamplighter.adapters.diagnosis.collect import collect
from lamplighter.adapters.diagnosis.subject import Subject

__all__ = ["Subject", "collect"]
