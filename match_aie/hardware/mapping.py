"""A mapping: how a workload's loops run on a module, in space and in time."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Loop:
    """`size` iterations of loop dimension `dim`."""

    dim: str
    size: int


@dataclass(frozen=True)
class Mapping:
    """Spatial loops (unrolled by hardware) and temporal loops, outermost first."""

    spatial: tuple[Loop, ...]
    temporal: tuple[Loop, ...]
