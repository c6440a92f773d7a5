"""What memory tiles and columns have left while a graph is laid out."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class Room:
    """What a memory tile has left."""

    bytes: int
    s2mm: int
    mm2s: int


@dataclass
class Links:
    """Links that a column has left between its memory tiles and its cores."""

    up: int
    down: int
