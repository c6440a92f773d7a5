"""A memory plan as rectangles: steps to the right, addresses upwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from match_aie.errors import shorten
from match_aie.report.table import count, extent

#: Of the drawing, in the units of its own coordinates.
WIDTH, HEIGHT = 960.0, 320.0

#: Room for a name inside a rectangle: below that it is shown only when pointed at.
_NAMED = (60.0, 12.0)


@dataclass(frozen=True)
class Block:
    """A tensor or workspace: where it lies, while it lives.

    Attributes:
        x: left edge: the step that makes it.
        y: upper edge: its last byte.
        width: to the last step that reads it.
        height: its bytes.
        label: shown inside; "" where there is no room.
        title: name, type, bytes and steps.
        tone: 0 to 5, one of the colours; neighbours differ mostly.
    """

    x: float
    y: float
    width: float
    height: float
    label: str
    title: str
    tone: int


@dataclass(frozen=True)
class MemoryMap:
    """The drawing, and what is beside it.

    Attributes:
        name: of the memory.
        nbytes: of it that are used.
        least: bytes that no plan can do without.
        steps: number of calls.
        peak: number and name of the call at which most bytes are alive.
        peak_x: left edge of that call.
        step_width: of one call.
        blocks: the rectangles.
        least_y: height of the bound `least`.
    """

    name: str
    nbytes: str
    least: str
    steps: int
    peak: str
    peak_x: float
    step_width: float
    blocks: tuple[Block, ...]
    least_y: float


def memory_map(manifest: Mapping[str, Any]) -> MemoryMap:
    """The drawing of a `match_aie.json`."""
    memory, steps = manifest["memory"], manifest["steps"]
    used, number = int(memory["nbytes"]), max(1, len(steps))
    wide, high = WIDTH / number, HEIGHT / max(1, used)
    tensors = {tensor["name"]: tensor for tensor in manifest["tensors"]}
    blocks = tuple(
        _block(placement, tensors.get(placement["name"]), wide, high, index % 6)
        for index, placement in enumerate(memory["placements"])
    )
    peak = int(memory["peak_step"])
    inside = 0 <= peak < len(steps)
    return MemoryMap(
        name=str(memory["memory"]),
        nbytes=count(used),
        least=count(int(memory["lower_bound"])),
        steps=len(steps),
        peak=f"{peak} {shorten(str(steps[peak]['label']), 60)}" if inside else "",
        peak_x=_short(max(0, peak) * wide),
        step_width=_short(wide),
        blocks=blocks,
        least_y=_short(HEIGHT - int(memory["lower_bound"]) * high),
    )


def _block(
    placement: Mapping[str, Any],
    tensor: Mapping[str, Any] | None,
    wide: float,
    high: float,
    tone: int,
) -> Block:
    first, last = int(placement["first"]), int(placement["last"])
    offset, nbytes = int(placement["offset"]), int(placement["nbytes"])
    width, height = (last - first + 1) * wide, nbytes * high
    name = shorten(str((tensor or placement).get("label") or placement["name"]), 60)
    what = f"{tensor['dtype']} {extent(tensor['shape'])}" if tensor else "workspace"
    place = f"at {count(offset)}, steps {first} to {last}"
    room = width >= _NAMED[0] and height >= _NAMED[1]
    return Block(
        _short(first * wide),
        _short(HEIGHT - (offset + nbytes) * high),
        _short(width),
        _short(height),
        name[: int(width / 7)] if room else "",
        f"{name}: {what}, {count(nbytes)} bytes {place} (planned)",
        tone,
    )


def _short(value: float) -> float:
    return round(value, 2)
