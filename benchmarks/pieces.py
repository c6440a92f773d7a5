"""Times of layers piece by piece, for machines that others use too.

A call of milliseconds is hardly ever undisturbed as a whole, but every piece of some microseconds
is in one of many calls. The clock is read between register tiles, whenever they have done `STEPS`
more steps of the reduction, so that pieces are as long whatever the blocking. A layer's time is
the sum of the fewest nanoseconds of each piece.
"""

from __future__ import annotations

import ctypes
import re

import numpy as np

#: Steps of the reduction in a piece: about 15 microseconds of register tiles.
STEPS = 8192

#: Pieces of a call at most.
MOST = 1 << 16

_CLOCK = f"""
#define _POSIX_C_SOURCE 199309L
#include <stdint.h>
#include <time.h>
static int64_t piece_at[{MOST}];
static int32_t pieces, piece_steps;
static void piece_end(void)
{{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (pieces < {MOST}) {{
        piece_at[pieces++] = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
    }}
}}
static inline void piece_add(int32_t steps)
{{
    piece_steps += steps;
    if (piece_steps >= {STEPS}) {{
        piece_steps -= {STEPS};
        piece_end();
    }}
}}
int64_t *piece_times(void);
int64_t *piece_times(void) {{ return piece_at; }}
int32_t piece_count(void);
int32_t piece_count(void) {{ return pieces; }}
"""


def with_clock(text: str, length: int) -> str:
    """The C of layers with clock reads in it.

    Args:
        text: of `cpu_prediction.c_text`, products only.
        length: of the reduction.
    """
    tile = re.compile(r"MA_APART void \w+\(const float \*restrict a,[^)]*\)\n\{")

    def hooked(match: re.Match[str]) -> str:
        steps = "length" if "int32_t length" in match[0] else str(length)
        return f"{match[0]}\n    piece_add({steps});"

    text, found = tile.subn(hooked, text)
    assert found, "no register tile in the layer"
    begin, end = "pieces = piece_steps = 0; piece_end();", "piece_end();"
    text = re.sub(
        r"(void run\d+\(void \*\*p\) \{)(.*?)\}\n", rf"\1 {begin}\2{end} }}\n", text + "\n"
    )
    return _CLOCK + text


class Pieces:
    """The fewest nanoseconds of every piece of some functions of a library."""

    def __init__(self, library: ctypes.CDLL, functions: int) -> None:
        """For `functions` functions whose C `with_clock` wrote."""
        self._count = library.piece_count
        self._times = library.piece_times
        self._times.restype = ctypes.POINTER(ctypes.c_int64)
        self._best: list[np.ndarray | None] = [None] * functions

    def note(self, at: int) -> None:
        """Take the times of the call of function `at` that has just returned."""
        times = np.ctypeslib.as_array(self._times(), (self._count(),))
        taken, best = np.diff(times), self._best[at]
        self._best[at] = taken if best is None else np.minimum(best, taken)

    def seconds(self) -> list[float]:
        """Of each function, the sum of its pieces."""
        return [float("inf") if b is None else 1e-9 * float(b.sum()) for b in self._best]
