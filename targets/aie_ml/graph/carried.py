"""Which part of a buffer, and how, gives just the tensor that somebody else would bring in."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from match_aie.targets.aie_ml.graph.image import WORD
from match_aie.targets.aie_ml.graph.plan import Outside, Part
from match_aie.targets.aie_ml.kernels.block import Access
from match_aie.targets.aie_ml.kernels.spec import BYTES


def window(left: Outside, whole: Access, taken: Outside) -> Access | None:
    """The part of `whole`, which lets out `left`, that gives just what `taken` brings in.

    None where tensors are carried otherwise, or no way gives that part.
    """
    plain = left.blocks is None and taken.blocks is None and taken.values is None
    if left.dtype != taken.dtype or not plain:
        return None
    if _carried(left) == _carried(taken) and not (taken.part and taken.part.minded):
        return whole
    part, inner = taken.part, prod(whole.tile[:-1])
    plain = not whole.traversal and (left.part is None or _whole(left.part))
    if part is None or not plain or left.elements != prod(part.tensor):
        return None
    if not part.contiguous:
        return _padded(whole, part, BYTES[left.dtype])
    if part.begin % inner or part.elements % inner:
        return None
    first = whole.offset[-1] + part.begin // inner
    tile = (*whole.tile[:-1], part.elements // inner)
    return replace(whole, tile=tile, offset=(*whole.offset[:-1], first))


def _padded(whole: Access, part: Part, size: int) -> Access | None:
    """The way that gives a part with zeros beside the tensor, which memory tiles add."""
    high, wide, deep = part.tensor
    if part.fill or any(whole.offset) or whole.tile != (deep, wide, high) or deep * size % WORD:
        return None
    tile = part.channels, part.columns, part.rows
    return replace(
        whole, tile=tile, offset=(0, -part.left, part.first), boundary=(deep, wide, high)
    )


def _whole(part: Part) -> bool:
    return part.contiguous and part.rows == part.tensor[0]


def _carried(outside: Outside) -> tuple[int, ...]:
    """How a tensor is carried: where it is as it lies, only its size matters."""
    part = outside.part
    if part is None or _whole(part):
        return (outside.elements,)
    return (*part.tensor, part.first, part.left, part.rows, part.columns, part.channels)
