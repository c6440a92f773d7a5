"""Convolutions whose results are cropped: they compute only what stays.

A causal convolution is often padded on both sides and cropped behind, as in temporal convolutional
networks, and a transposed one cropped to the size of a skip. Element J + i of the result, where the
first J of them are dropped, is element i of a convolution whose image has J * stride fewer zeros in
front; dropped at the end likewise. Of a transposed convolution, J dropped elements are J more of
its padding. What is computed element by element between the two sees fewer elements.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.canonical.constants import has_constant_parameters, per_tensor
from match_aie.frontend.canonical.layout import ELEMENTWISE
from match_aie.frontend.canonical.pieces import numbers
from match_aie.frontend.rebuild import Emitter, Expr

CONVOLUTIONS = frozenset({"nn.conv1d", "nn.conv2d"})
TRANSPOSED = frozenset({"nn.conv1d_transpose", "nn.conv2d_transpose"})
QUANTISERS = frozenset({"quantize", "dequantize"})

#: Elements dropped in front and at the end, by axis.
Drops = Mapping[int, tuple[int, int]]


@dataclass(frozen=True)
class Cropped:
    """The visit function of this pass, with what it does to one module.

    Attributes:
        paddings: of convolutions from now on, by variable.
        slices: variables that are what they cropped.
    """

    paddings: Mapping[Any, tuple[int, ...]]
    slices: frozenset[Any]

    @classmethod
    def of(cls, module: Any) -> Cropped:
        """What can be cropped in `main` of a module."""
        main = module["main"]
        known = dict(tvm_api.bindings(main))
        reads = Counter(arg for value in known.values() for arg in _operands(value))
        reads.update(_operands(main.body.body))
        paddings, slices = {}, set()
        for var, value in known.items():
            drops = _drops(var, value)
            found = _convolution(value.args[0], drops, known, reads) if drops else None
            padding = _padding(known[found], drops) if found is not None and drops else None
            if padding is not None:
                paddings[found] = padding
                slices.add(var)
        return cls(paddings, frozenset(slices))

    def __call__(self, emitter: Emitter, var: Any, value: Expr) -> Expr:
        """Rewrite one binding."""
        if var in self.slices:
            return value.args[0]
        if var not in self.paddings:
            return value
        told = tvm_api.attributes(value.attrs) | {"padding": list(self.paddings[var])}
        return tvm_api.operator(tvm_api.operator_name(value))(*value.args, **told)


def _operands(value: Any) -> list[Any]:
    """Variables that a call, a tuple or a projection reads, as often as it does."""
    if isinstance(value, relax.Var):
        return [value]
    if isinstance(value, relax.TupleGetItem):
        return _operands(value.tuple_value)
    parts = value.fields if isinstance(value, relax.Tuple) else getattr(value, "args", ())
    return [var for part in parts for var in _operands(part)]


def _drops(var: Any, call: Any) -> Drops | None:
    """What a `strided_slice` of whole steps drops; None of others, and of bounds not known."""
    if tvm_api.operator_name(call) != "strided_slice" or not isinstance(call.args[0], relax.Var):
        return None
    given = [numbers(arg) for arg in call.args[1:]]
    axes, begins, ends, *steps = given
    if axes is None or begins is None or ends is None or any(set(s or [0]) != {1} for s in steps):
        return None
    sizes, left = tvm_api.shape_of(call.args[0]), tvm_api.shape_of(var)
    drops = {}
    for axis, begin, end in zip((a % len(sizes) for a in axes), begins, ends, strict=True):
        size = sizes[axis]
        first, last = (min(max(b + size if b < 0 else b, 0), size) for b in (begin, end))
        if last - first != left[axis] or first == last:
            return None
        drops[axis] = (first, size - last)
    return {axis: both for axis, both in drops.items() if any(both)}


def _convolution(
    var: Any, drops: Drops, known: Mapping[Any, Any], reads: Mapping[Any, int]
) -> Any | None:
    """The convolution whose result `var` is, element by element; None where others read it, too.

    Args:
        var: what is cropped.
        drops: of it.
        known: the value of each variable.
        reads: how often each variable is read.
    """
    while var in known and reads[var] == 1:
        call = known[var]
        operator = tvm_api.operator_name(call)
        if operator in CONVOLUTIONS | TRANSPOSED:
            return var
        inner = _inner(operator, call, drops) if operator in ELEMENTWISE else None
        if inner is None:
            return None
        var = inner
    return None


def _inner(operator: str, call: Any, drops: Drops) -> Any | None:
    """The operand that is cropped as the result is; None where others would have to be, too."""
    if operator in QUANTISERS:
        channels = has_constant_parameters(call) and int(call.attrs.axis) not in drops
        return call.args[0] if per_tensor(call) or channels else None
    rank, long = len(tvm_api.shape_of(call)), []
    for arg in call.args:
        if not (isinstance(arg, relax.Var) or tvm_api.is_constant(arg)):
            continue  # a bound of a clip
        sizes = tvm_api.shape_of(arg)
        sizes = (1,) * (rank - len(sizes)) + sizes
        if any(sizes[axis] != 1 for axis in drops):
            long.append((arg, len(tvm_api.shape_of(arg))))
    return long[0][0] if len(long) == 1 and long[0][1] == rank else None


def _padding(call: Any, drops: Drops) -> tuple[int, ...] | None:
    """Padding with which a convolution gives what is left; None where padding cannot say it."""
    attrs = call.attrs
    layout, transposed = str(attrs.data_layout), tvm_api.operator_name(call) in TRANSPOSED
    spatial = [axis for axis, letter in enumerate(layout) if letter in "HW"]
    if str(attrs.out_layout) != layout or not set(drops) <= set(spatial):
        return None
    taps = [
        size
        for size, letter in zip(
            tvm_api.shape_of(call.args[1]), str(attrs.kernel_layout), strict=True
        )
        if letter in "HW"
    ]
    sides = len(spatial)
    padding = [int(p) for p in attrs.padding]
    for axis, both in drops.items():
        at = spatial.index(axis)
        stride, reach = int(attrs.strides[at]), int(attrs.dilation[at]) * (taps[at] - 1)
        for place, dropped in zip((at, at + sides), both, strict=True):
            padding[place] += dropped if transposed else -dropped * stride
            if dropped and not 0 <= padding[place] <= (reach if transposed else padding[place]):
                return None
    return tuple(padding)
