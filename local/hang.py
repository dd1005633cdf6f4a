"""When a program of the embedded cloud counts as hung, in real seconds: a busy machine is slow, and that is all.

A program that ended, or a port on which nobody listens, is told at once.
"""

HANG_SECONDS = 300.0
