"""Loops that turn a plane of bytes, in blocks of eight by eight.

A transpose reads bytes side by side and writes them a line apart, one by one: compilers find no
vectors there. Eight lines of eight bytes in registers of 64 bits are turned by three swaps of
halves, with an eighth of the loads and stores. Where the processor is another one than
`scalars.TURNS` says, the loops are what they were.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tvm import ir, tirx

from match_aie.fallback.statements import substituted

#: Lines and bytes of a block.
BLOCK = 8
#: Bytes of a plane at least: of fewer, blocks are not worth their code.
LEAST_PLANE = 1024


@dataclass(frozen=True, eq=False)
class Plane:
    """Two loops that do nothing but turn a plane: lines of what is written, bytes of a line.

    Attributes:
        outer: the loop over lines.
        inner: the loop over bytes.
        to_line: bytes from a line that is written to the next.
        from_line: bytes from a line that is read to the next.
    """

    outer: Any
    inner: Any
    to_line: int
    from_line: int


def plane(
    stmt: Any, buffers: Mapping[Any, str], dtypes: Mapping[str, str], sym: Any
) -> Plane | None:
    """What the loop `stmt` turns; None where it does something else, or too little.

    Args:
        stmt: a loop.
        buffers: names of buffers, alike where they are the same memory.
        dtypes: of names.
        sym: TVM's analyser.
    """
    inner = stmt.body
    if not isinstance(inner, tirx.For) or not isinstance(inner.body, tirx.BufferStore):
        return None
    store, load = inner.body, inner.body.value
    if not isinstance(load, ir.TensorLoad):
        return None
    names = [buffers.get(buffer) for buffer in (store.buffer, load.source)]
    kinds = [dtypes.get(name or "") for name in names]
    if names[0] == names[1] or kinds[0] != kinds[1] or kinds[0] not in ("int8", "uint8"):
        return None
    bounds = [(loop.min, loop.extent) for loop in (stmt, inner)]
    if not all(isinstance(bound, ir.prim.IntImm) for pair in bounds for bound in pair):
        return None
    sizes = [int(extent) for begin, extent in bounds if not int(begin)]
    if len(sizes) < 2 or any(size % BLOCK for size in sizes) or sizes[0] * sizes[1] < LEAST_PLANE:
        return None
    to = _strides(store.indices[0], stmt.loop_var, inner.loop_var, sym)
    read = _strides(load.indices[0], stmt.loop_var, inner.loop_var, sym)
    if to is None or read is None or to[1] != 1 or read[0] != 1:
        return None
    return Plane(stmt, inner, to[0], read[1])


def _strides(index: Any, outer: Any, inner: Any, sym: Any) -> tuple[int, int] | None:
    """What an index gains with each of two variables; None where it is not linear in them."""

    def at(first: int, second: int) -> Any:
        moved = index
        for variable, value in ((outer, first), (inner, second)):
            number = ir.prim.IntImm(str(variable.ty.dtype), value)
            moved = substituted(moved, variable, number)
        return sym.simplify(moved)

    begin = at(0, 0)
    steps = [sym.simplify(at(*place) - begin) for place in ((1, 0), (0, 1))]
    if not all(isinstance(step, ir.prim.IntImm) for step in steps):
        return None
    if not sym.can_prove_equal(index, begin + outer * steps[0] + inner * steps[1]):
        return None
    return int(steps[0]), int(steps[1])
