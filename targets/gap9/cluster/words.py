"""Whole words."""

from __future__ import annotations

import numpy as np

from match_aie.hardware import Array


def up(a: Array | int, b: int) -> Array:
    """`a / b`, rounded up."""
    return np.asarray(-(-np.asarray(a) // b))


def pad4(a: Array | int) -> Array:
    """`a`, rounded up to a multiple of 4."""
    return np.asarray(4 * up(a, 4))
