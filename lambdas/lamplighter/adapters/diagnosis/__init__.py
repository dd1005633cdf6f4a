"""Reads a pool's snapshot from AWS and Kubernetes, as their APIs print it, secrets already taken out.

`collect` is the whole interface; one file a system, and every call may fail without losing the others.
"""

from lamplighter.adapters.diagnosis.collect import Subject, collect

__all__ = ["Subject", "collect"]
