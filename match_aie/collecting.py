"""How often Python looks for garbage in cycles while a network is compiled."""

from __future__ import annotations

import gc
import threading
from collections.abc import Iterator
from contextlib import contextmanager

#: Objects that come to be and stay between two looks for garbage in cycles while a network is
#: compiled. Plans are trees: what they leave goes when nothing refers to it any more.
OBJECTS = 50_000


@contextmanager
def collecting_seldom() -> Iterator[None]:
    """Look for garbage in cycles less often inside, and as before behind it.

    Only in the main thread, and where somebody looks at all: how often belongs to the process, and
    of two threads that change it, the second to end would restore what the first had set.
    """
    before = gc.get_threshold()
    if threading.current_thread() is not threading.main_thread() or not 0 < before[0] < OBJECTS:
        yield
        return
    gc.set_threshold(OBJECTS, *before[1:])
    try:
        yield
    finally:
        gc.set_threshold(*before)
