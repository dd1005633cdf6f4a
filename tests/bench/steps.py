"""Counts the steps of the interpreter that a piece of work takes: the same on every machine, at any load.

A step is a bytecode instruction of our own code or of a library's Python; what C does within one is not seen.
"""

import gc
import sys
from collections.abc import Callable
from types import FrameType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from _typeshed import TraceFunction


def steps_of(work: Callable[[], object]) -> int:
    """The steps of a call, once whatever it keeps for the next time is there."""
    work()
    count = 0

    def each(frame: FrameType, event: str, _: object) -> "TraceFunction":
        nonlocal count
        if event == "call":
            frame.f_trace_opcodes, frame.f_trace_lines = True, False
        elif event == "opcode":
            count += 1
        return each

    before, collects = sys.gettrace(), gc.isenabled()
    gc.disable()  # whoever listens to the collector, as Hypothesis does, would be counted
    sys.settrace(each)
    try:
        work()
    finally:
        sys.settrace(before)
        if collects:
            gc.enable()
    return count
