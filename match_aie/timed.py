"""What took how long, in the log."""

from __future__ import annotations

import logging
import time
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def timed(log: logging.Logger, what: str) -> Iterator[None]:
    """Log at level INFO how many seconds the inside took; nothing where it raises."""
    start = time.perf_counter()
    yield
    log.info("%s: %.3f s", what, time.perf_counter() - start)
