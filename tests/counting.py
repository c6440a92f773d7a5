"""What a piece of Python does, counted rather than timed."""

import sys


def operations(call):
    """How many bytecode instructions of Python run in `call()`; the same on every machine."""
    count = 0

    def trace(frame, event, _arg):
        nonlocal count
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        count += event == "opcode"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        call()
    finally:
        sys.settrace(before)
    return count


def growth(of, size):
    """How much work `of(n)` returns for twice the size: 2 where it is linear, 4 where quadratic.

    `of(n)` prepares and returns what is to be counted. The first call may import and remember.
    """
    of(1)()
    return operations(of(2 * size)) / operations(of(size))
