"""Inputs, outputs and other tensors as the network's C shows them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from match_aie.codegen.ctype import float_literal
from match_aie.codegen.names import comment
from match_aie.codegen.port import PortRecord
from match_aie.codegen.sizes import SizesView
from match_aie.codegen.weights import element_type
from match_aie.lowering import Tensor
from match_aie.workload import ITEMSIZE


@dataclass(frozen=True)
class PortView:
    """An input or output as the header shows it; `label` is safe in a comment.

    `shown` is its shape in words; `growing` its elements as a C expression where they depend on
    sizes, else "".
    """

    macro: str
    label: str
    dtype: str
    ctype: str
    shape: tuple[int, ...]
    elements: int
    nbytes: int
    scale: str
    zero_point: int
    shown: str = ""
    growing: str = ""


def port_views(records: Sequence[PortRecord], macro: str, sized: SizesView) -> tuple[PortView, ...]:
    """What the header shows of inputs or outputs; `macro` begins the names of their macros."""
    return tuple(_view(record, f"{macro}_{at}", sized) for at, record in enumerate(records))


def _view(record: PortRecord, macro: str, sized: SizesView) -> PortView:
    scale = "" if record.scale is None else float_literal(record.scale)
    label, c_type = comment(record.name), element_type(record.dtype)
    size = record.shape, record.elements, record.nbytes
    words = sized.shape(record.extents, record.shape), sized.macro(record.extents)
    return PortView(macro, label, record.dtype, c_type, *size, scale, record.zero_point, *words)


def tensor_bytes(tensor: Tensor, sized: SizesView) -> str:
    """C expression of a tensor's bytes."""
    if not tensor.extents:
        return str(tensor.nbytes)
    return sized.nbytes(tensor.extents, ITEMSIZE[tensor.dtype])
