"""Memories of a module, and what a hierarchy of them has to be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from difflib import get_close_matches

from match_aie.errors import TargetError

#: Name among `Memory.operands` of a layer's partial sums.
SUMS = "sums"

#: Every operand that a layer of some kind has.
OPERANDS = (
    *("x", "x1", "x2", "y", "weight", "bias", "scale", "multiplier", "offset", "table"),
    *("recurrent", "residual", "residual1", "mask"),
    # Of attention, whose constants are those of three layers.
    *("scores_scale", "scores_multiplier", "scores_offset", "weights_multiplier"),
)


@dataclass(frozen=True)
class Memory:
    """A memory, and the way from it to the next one inward.

    Attributes:
        name: as users know it.
        bytes: capacity; None where it is not limited.
        bytes_per_cycle: bandwidth towards the memory inside, in the module's cycles.
        store_bytes_per_cycle: bandwidth of the way back; None where it is the same.
        transfer_cycles: fixed cost of a transfer between this memory and the one inside.
        chunk_cycles: cost of every contiguous piece of a transfer.
        operands: names of those it serves; None for all. Memories side by side serve different
            operands. An innermost one that names "sums" holds partial sums of the output's tile,
            where a kernel sums a part (`Tiled.tiled_reductions`).
        double_buffered: operands whose tiles are moved while others are worked on, so that two
            of them are there at a time (unless one tile is all there is); None for all.
        reserved: bytes that are never free for tiles, beside `Tiled.reserved_bytes`.
        alignment: of every tile, in bytes.
        picojoules_per_byte: of a byte that moves between this memory and the one inside.
    """

    name: str
    bytes: int | None
    bytes_per_cycle: float
    store_bytes_per_cycle: float | None = None
    transfer_cycles: float = 0.0
    chunk_cycles: float = 0.0
    operands: tuple[str, ...] | None = None
    double_buffered: tuple[str, ...] | None = ()
    reserved: int = 0
    alignment: int = 1
    picojoules_per_byte: float = 0.0

    def __post_init__(self) -> None:
        """Refuse what no memory can be."""
        positive = {
            "bytes": self.bytes,
            "bytes_per_cycle": self.bytes_per_cycle,
            "store_bytes_per_cycle": self.store_bytes_per_cycle,
            "alignment": self.alignment,
        }
        natural = ("transfer_cycles", "chunk_cycles", "reserved", "picojoules_per_byte")
        for field, value in positive.items():
            if value is not None and not value > 0:
                raise TargetError(f"memory {self.name!r}: {field} must be positive, not {value}")
        for field in natural:
            value = getattr(self, field)
            if not value >= 0:
                raise TargetError(f"memory {self.name!r}: {field} may not be negative: {value}")

    def serves(self, operand: str) -> bool:
        """Whether tiles of `operand` are kept here."""
        return self.operands is None or operand in self.operands

    def doubles(self, operand: str) -> bool:
        """Whether two tiles of `operand` are kept here at a time."""
        return self.double_buffered is None or operand in self.double_buffered


def sums_memory(memories: Sequence[Memory]) -> Memory | None:
    """The inner memory that holds partial sums: the one that names them, if one does."""
    return next((m for m in memories[:-1] if m.operands and SUMS in m.operands), None)


def meant(name: str, known: Sequence[str]) -> str:
    """What an author probably meant by a name that is none, as the end of a sentence."""
    close = get_close_matches(name, known, 1, 0.6)
    if close:
        return f"; did you mean {close[0]!r}"
    return f"; there is {', '.join(known)}" if known else "; there is none"


def check_memories(memories: Sequence[Memory]) -> None:
    """Refuse memories that cannot be a hierarchy.

    Raises:
        TargetError: one names an operand that no layer has; two have one name; the outermost does
            not serve all operands; or of two that serve the same operand the outer one is the
            smaller one.
    """
    held = (*OPERANDS, SUMS)
    for memory in memories:
        named = {"operands": memory.operands, "double_buffered": memory.double_buffered}
        for field, given in named.items():
            if isinstance(given, str):
                raise TargetError(
                    f"memory {memory.name!r}: {field} is the text {given!r}, not a tuple of names",
                    hint=f"{field}=({given!r},)",
                )
            for name in given or ():
                if name not in held:
                    raise TargetError(
                        f"memory {memory.name!r}: {field} names {name!r}, an operand that no layer "
                        f"has{meant(name, held)}"
                    )
    names = [memory.name for memory in memories]
    if len(set(names)) != len(names):
        raise TargetError(f"memories: names must differ: {names}")
    if memories and memories[-1].operands is not None:
        raise TargetError(
            f"memories: {memories[-1].name!r} is outermost and must serve all operands"
        )
    for at, inner in enumerate(memories):
        for outer in memories[at + 1 :]:
            if _share(inner, outer) and _capacity(outer) < _capacity(inner):
                raise TargetError(
                    f"memories: {outer.name!r} ({outer.bytes} bytes) comes after {inner.name!r} "
                    f"({inner.bytes} bytes) but is smaller",
                    hint="list memories innermost first",
                )


def _share(a: Memory, b: Memory) -> bool:
    return a.operands is None or b.operands is None or bool(set(a.operands) & set(b.operands))


def _capacity(memory: Memory) -> float:
    return float("inf") if memory.bytes is None else memory.bytes
