"""What a layer template sees: the numbers of one layer, ready to print, and nothing else."""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.codegen.ctype import ctype, float_literal
from match_aie.hardware import ExecModule, Mapping, Packing, Scratch, TileProgram, facet, packings
from match_aie.lowering import LayerProgram
from match_aie.workload import Operand, Tail, Workload
from match_aie.workload.extent import Word, loop_sizes


def _offset(value: int) -> str:
    return "" if not value else f" {'+' if value > 0 else '-'} {abs(value)}"


@dataclass(frozen=True)
class OperandView:
    """An operand: C type, extents, and quantisation (`scale` a float literal, "" where none).

    `lies` are the extents of the places in which it lies: those of `shape`, or of the blocks that
    `Packed.layouts` declares.
    """

    name: str
    ctype: str
    shape: tuple[int, ...]
    zero_point: int
    scale: str
    lies: tuple[int, ...] = ()

    @property
    def size(self) -> int:
        """Elements."""
        size = 1
        for extent in self.shape:
            size *= extent
        return size

    def centred(self, element: str) -> str:
        """C expression of `element` less the zero point."""
        if not self.zero_point:
            return element
        wide = "(int64_t)" if self.ctype == "int32_t" else ""
        return f"({wide}{element}{_offset(-self.zero_point)})"


@dataclass(frozen=True)
class Dims:
    """Sizes of the loop dimensions, 1 for those that the layer has not.

    One that a run gives is the name of the function's parameter.
    """

    B: int | Word
    G: int | Word
    K: int | Word
    C: int | Word
    OY: int | Word
    OX: int | Word
    FY: int | Word
    FX: int | Word


@dataclass(frozen=True)
class WindowView:
    """How a filter slides over an image of `rows` x `columns` positions.

    `pads_rows` and `pads_columns` say whether any window reaches over an edge.
    """

    sy: int
    sx: int
    dy: int
    dx: int
    top: int
    left: int
    rows: int
    columns: int
    pads_rows: bool
    pads_columns: bool
    count_include_pad: bool


@dataclass(frozen=True)
class TailView:
    """Saturation bounds as integers, and less the zero point as float literals.

    `shift` is None where the layer requantises in float32.
    """

    zero_point: int
    lo: int
    hi: int
    low: str
    high: str
    rounding: str
    shift: int | None = None

    def shifted(self, t: str) -> str:
        """C expression of the int64_t variable `t` shifted right and rounded."""
        if not self.shift or self.rounding == "floor":
            return f"({t} >> {self.shift})"
        half = f"((int64_t)1 << {self.shift - 1})"
        added = {
            "half_up": half,
            "half_even": f"{half} - 1 + (({t} >> {self.shift}) & 1)",
            "half_away": f"{half} - ({t} < 0)",
        }
        return f"(({t} + {added[self.rounding]}) >> {self.shift})"

    @property
    def offset(self) -> str:
        """What C text adds the zero point to an integer expression; "" for 0."""
        return _offset(self.zero_point)


@dataclass(frozen=True)
class ElementLoop:
    """One loop over elements: its variable, its size, and the step of each operand in elements."""

    variable: str
    size: int
    steps: tuple[tuple[str, int], ...]


@dataclass(frozen=True)
class LayerView:
    """One layer as a template sees it.

    Attributes:
        symbol: name of the C function.
        parameters: its C parameter list: operands in the workload's order, then scratch.
        summary: a comment line.
        kind: the workload's.
        dim: loop sizes.
        operands: in the workload's order.
        window: for conv2d and pooling, else None.
        tail: of the sum of products; None where it itself is stored.
        stored: of what is stored: `tail`, or that of the last sum that the layer takes along.
        elements: nest of loops over the output, adjacent ones merged; for elementwise kinds.
        tiles: how tiles move, of a layer whose module has an inner memory; else None.
        mapping: loops and cuts.
        kernel: what `ExecModule.kernel` gives for the layer's mapping.
        held: whether only the module ever holds the layer's result.
        ahead: runs that may have begun before this one's result is taken; 0 where none may.
    """

    symbol: str
    parameters: str
    summary: str
    kind: str
    dim: Dims
    operands: tuple[OperandView, ...]
    window: WindowView | None
    tail: TailView | None
    elements: tuple[ElementLoop, ...]
    tiles: TileProgram | None
    mapping: Mapping
    kernel: object
    held: bool = False
    ahead: int = 0
    stored: TailView | None = None

    def operand(self, name: str) -> OperandView:
        """The operand called `name`; KeyError if there is none."""
        for operand in self.operands:
            if operand.name == name:
                return operand
        raise KeyError(f"{self.kind} has no operand {name!r}")

    def times(self, channel: str) -> str:
        """What C text multiplies a fixed-point sum of output channel `channel` by; "" for 1."""
        return self._parameter("*", "multiplier", channel)

    def plus(self, channel: str) -> str:
        """What C text adds to a multiplied fixed-point sum; "" for 0."""
        return self._parameter("+", "offset", channel)

    def _parameter(self, operator: str, name: str, channel: str) -> str:
        found = [operand for operand in self.operands if operand.name == name]
        if not found:
            return ""
        return f" {operator} {name}[{channel if found[0].size > 1 else 0}]"

    @property
    def channel(self) -> str:
        """C expression of the output channel that the loops `elements` are at."""
        # The two multipliers of an add are one per input.
        names = ("offset",) if self.kind == "add" else ("offset", "multiplier")
        parameters = [o for o in self.operands if o.name in names]
        wide = [o.name for o in parameters if o.size == self.operands[-1].shape[-1] > 1]
        return self.index(wide[0]) if wide else "0"

    def index(self, name: str) -> str:
        """C expression of the element of operand `name` that the loops `elements` are at."""
        terms = []
        for loop in self.elements:
            step = dict(loop.steps)[name]
            if step:
                terms.append(loop.variable if step == 1 else f"{loop.variable} * {step}")
        return " + ".join(terms) or "0"


def layer_view(layer: LayerProgram, module: ExecModule) -> LayerView:
    """The view of `layer`, which `module` runs."""
    workload = layer.workload
    sizes, orders = loop_sizes(workload), packings(workload, module)
    return LayerView(
        symbol=layer.symbol,
        parameters=parameters(workload, module, linked=bool(layer.tiles and layer.tiles.linked)),
        summary=summary(workload),
        kind=workload.kind,
        dim=Dims(*(sizes[d] for d in ("B", "G", "K", "C", "OY", "OX", "FY", "FX"))),
        operands=tuple(_operand_view(o, orders.get(o.name)) for o in workload.operands),
        window=_window_view(workload),
        tail=_tail_view(workload.tail),
        stored=_tail_view(workload.added[-1].tail if workload.added else workload.tail),
        elements=element_loops(workload),
        tiles=layer.tiles,
        mapping=layer.mapping,
        kernel=module.kernel(workload, layer.mapping),
        held=layer.held_until is not None,
        ahead=layer.ahead,
    )


def parameters(workload: Workload, module: ExecModule, *, linked: bool = False) -> str:
    """C parameter list; an input that the output may overwrite is not `restrict`, nor is y.

    `linked` layers also take what goes between them and the next one.
    """
    shared = set(facet(module, Scratch).in_place(workload))
    if shared:
        shared.add("y")
    words = []
    for operand in workload.operands:
        const = "" if operand.name == "y" else "const "
        qualifier = "" if operand.name in shared else "restrict "
        words.append(f"{const}{ctype(operand.dtype)} *{qualifier}{operand.name}")
    if facet(module, Scratch).scratch_bytes(workload):
        words.append("uint8_t *restrict scratch")
    if linked:
        words.append("struct ma_ahead *ahead")
    words += [f"const int32_t n_{dim}" for dim in workload.run_time]
    return ", ".join(words)


def summary(workload: Workload) -> str:
    """Kind, operand shapes and loop sizes in a line.

    >>> from match_aie.workload import Quantized, dense
    >>> summary(dense(Quantized("int8"), Quantized("int32"), rows=1, inputs=3, outputs=2))
    'dense: x int8[1,3], weight int8[2,3], bias int32[2] -> y int32[1,2]'
    """

    def shown(operand: Operand) -> str:
        return f"{operand.name} {operand.dtype}[{','.join(map(str, operand.shape))}]"

    read = ", ".join(shown(o) for o in workload.operands[:-1])
    most = f", {' and '.join(workload.run_time)} at most" if workload.run_time else ""
    return f"{workload.kind}: {read} -> {shown(workload.output)}{most}"


def element_loops(workload: Workload) -> tuple[ElementLoop, ...]:
    """Loops over the output's axes, outermost first, as few as the operands' layouts allow.

    Only for kinds without a reduction; () for others.
    """
    if workload.kind not in ("add", "mul", "quantize", "dequantize"):
        return ()
    steps = {o.name: _steps(o) for o in workload.operands}
    loops: list[tuple[int, dict[str, int]]] = []
    for dim, size in reversed([d for d in workload.dims if d[1] > 1]):
        here = {name: s.get(dim, 0) for name, s in steps.items()}
        if loops and all(here[n] == loops[-1][0] * s for n, s in loops[-1][1].items()):
            loops[-1] = (loops[-1][0] * size, loops[-1][1])
        else:
            loops.append((size, here))
    loops = loops or [(1, dict.fromkeys(steps, 0))]
    return tuple(
        ElementLoop(f"i{level}", size, tuple(s.items()))
        for level, (size, s) in enumerate(reversed(loops))
    )


def _steps(operand: Operand) -> dict[str, int]:
    """Elements between neighbours along each loop dimension, row-major."""
    strides = [1]
    for extent in reversed(operand.shape[1:]):
        strides.insert(0, strides[0] * extent)
    return {
        dim: stride
        for axis, stride in zip(operand.axes, strides, strict=True)
        for dim, _ in axis.terms
    }


def _operand_view(operand: Operand, order: Packing | None = None) -> OperandView:
    scale = "" if operand.scale is None else float_literal(operand.scale)
    lies = operand.shape if order is None else order.shape(operand)
    what = operand.name, ctype(operand.dtype), operand.shape
    return OperandView(*what, operand.zero_point, scale, lies)


def _window_view(workload: Workload) -> WindowView | None:
    window, d = workload.window, workload.sizes
    if window is None:
        return None
    (sy, sx), (dy, dx), (top, left, _, _) = window.stride, window.dilation, window.padding
    _, rows, columns, _ = workload.operand("x").shape
    last_row = (d["OY"] - 1) * sy - top + (d["FY"] - 1) * dy
    last_column = (d["OX"] - 1) * sx - left + (d["FX"] - 1) * dx
    return WindowView(
        sy=sy,
        sx=sx,
        dy=dy,
        dx=dx,
        top=top,
        left=left,
        rows=rows,
        columns=columns,
        pads_rows=top > 0 or last_row >= rows,
        pads_columns=left > 0 or last_column >= columns,
        count_include_pad=window.count_include_pad,
    )


def _tail_view(tail: Tail | None) -> TailView | None:
    if tail is None:
        return None
    return TailView(
        zero_point=tail.zero_point,
        lo=tail.lo,
        hi=tail.hi,
        low=float_literal(tail.lo - tail.zero_point),
        high=float_literal(tail.hi - tail.zero_point),
        rounding=tail.rounding,
        shift=tail.shift,
    )
