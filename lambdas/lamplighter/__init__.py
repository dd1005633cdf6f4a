"""Lamplighter, the product: what runs in the functions and what the command line shares with them.

Time zones come from the pinned tzdata package on every machine, never from the machine's own files.
"""

from zoneinfo import reset_tzpath

reset_tzpath(to=())
