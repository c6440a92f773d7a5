"""Constructors for the workloads of float32 layers: no scales, and a `RealTail` for the tail.

Operands may be read and written transposed: their axes are named by loop dimension, in the order
in which they lie in memory. What an operand named "bias" or "residual" is added to, and when, is
defined by `match_aie.workload.workload.RealTail`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from match_aie.workload.build import Quantized, output_extent, pool2d
from match_aie.workload.codes import CODES
from match_aie.workload.kinds import Kind
from match_aie.workload.workload import (
    Activation,
    Axis,
    Operand,
    RealTail,
    Window,
    Workload,
)


def _real(
    name: str, sizes: Mapping[str, int], dims: Sequence[str], constant: bool = False
) -> Operand:
    """A float32 operand with one axis per loop dimension of `dims`."""
    shape = tuple(sizes[dim] for dim in dims)
    return Operand(name, "float32", shape, tuple(Axis(((dim, 1),)) for dim in dims), constant)


def real_dense(
    *,
    rows: int,
    inputs: int,
    outputs: int,
    bias: bool = False,
    residual: bool = False,
    tail: RealTail = RealTail(),
    x_axes: Sequence[str] = ("B", "C"),
    y_axes: Sequence[str] = ("B", "K"),
) -> Workload:
    """Matrix times constant: x[B,C], weight[K,C], bias[K], residual as y -> y[B,K].

    Args:
        rows: B.
        inputs: C.
        outputs: K.
        bias: whether there is one.
        residual: whether a tensor of y's shape and layout is added before the activation.
        tail: what happens to the sum.
        x_axes: ("C", "B") where the input lies transposed.
        y_axes: ("K", "B") where output and residual lie transposed.
    """
    sizes = {"B": rows, "K": outputs, "C": inputs}
    operands = [_real("x", sizes, x_axes)]
    if residual:
        operands.append(_real("residual", sizes, y_axes))
    operands.append(_real("weight", sizes, ("K", "C"), True))
    if bias:
        operands.append(_real("bias", sizes, ("K",), True))
    operands.append(_real("y", sizes, y_axes))
    return Workload("dense", tuple(sizes.items()), tuple(operands), real=tail)


def real_matmul(
    sizes: Mapping[str, int],
    x_axes: Sequence[str],
    x1_axes: Sequence[str],
    y_axes: Sequence[str],
    tail: RealTail = RealTail(),
    known: Sequence[str] = (),
) -> Workload:
    """Product of two tensors over C: x[B,G,OY,C], x1[B,G,C,K] -> y[B,G,OY,K].

    Args:
        sizes: of every dimension; the batches B and G may be absent.
        x_axes: of the first factor as they lie, in any order.
        x1_axes: of the second.
        y_axes: of the result.
        tail: what happens to the sum.
        known: "x" or "x1" where that is constant.
    """
    order = [dim for dim in ("B", "G", "OY", "K", "C") if dim in sizes]
    operands = (
        _real("x", sizes, x_axes, "x" in known),
        _real("x1", sizes, x1_axes, "x1" in known),
        _real("y", sizes, y_axes),
    )
    return Workload("matmul", tuple((d, sizes[d]) for d in order), operands, real=tail)


def real_conv2d(
    *,
    shape: tuple[int, int, int, int],
    weight_shape: tuple[int, int, int, int],
    groups: int = 1,
    window: Window = Window(),
    bias: bool = False,
    residual: bool = False,
    tail: RealTail = RealTail(),
) -> Workload:
    """2-D convolution, NHWC: x[B,IY,IX,G*C], weight[G*K,FY,FX,C], bias[G*K] -> y[B,OY,OX,G*K].

    Args:
        shape: of x, NHWC.
        weight_shape: [outputs, rows, columns, inputs of a group].
        groups: of channels.
        window: stride, dilation, padding.
        bias: has one.
        residual: is added, of the result's shape.
        tail: what happens to the sums.
    """
    batch, rows, columns, channels = shape
    out, fy, fx, c = weight_shape
    if c * groups != channels or out % groups:
        raise ValueError(f"weights {weight_shape} with {groups} groups do not fit input {shape}")
    (sy, sx), (dy, dx), (top, left, bottom, right) = window.stride, window.dilation, window.padding
    oy = output_extent(rows, fy, sy, dy, top, bottom)
    ox = output_extent(columns, fx, sx, dx, left, right)
    k = out // groups
    dims = {"B": batch, "G": groups, "K": k, "OY": oy, "OX": ox, "C": c, "FY": fy, "FX": fx}
    channel = Axis((("G", k), ("K", 1)))
    access = (
        Axis((("B", 1),)),
        Axis((("OY", sy), ("FY", dy)), -top),
        Axis((("OX", sx), ("FX", dx)), -left),
        Axis((("G", c), ("C", 1))),
    )
    stored = (*(Axis(((d, 1),)) for d in ("B", "OY", "OX")), channel)
    taps = (channel, *(Axis(((d, 1),)) for d in ("FY", "FX", "C")))
    result = (batch, oy, ox, out)
    operands = [Operand("x", "float32", shape, access)]
    if residual:
        operands.append(Operand("residual", "float32", result, stored))
    operands.append(Operand("weight", "float32", weight_shape, taps, True))
    if bias:
        operands.append(Operand("bias", "float32", (out,), (channel,), True))
    operands.append(Operand("y", "float32", result, stored))
    return Workload("conv2d", tuple(dims.items()), tuple(operands), window, real=tail)


def real_pool2d(
    kind: Kind,
    *,
    shape: tuple[int, int, int, int],
    filter_shape: tuple[int, int],
    window: Window = Window(),
) -> Workload:
    """`avg_pool2d` or `max_pool2d`, NHWC: x[B,IY,IX,G] -> y[B,OY,OX,G]; global: filter = image.

    Of positions inside the image; an average divides by all where the window says so.

    Args:
        kind: which of the two.
        shape: of x, NHWC.
        filter_shape: rows and columns.
        window: stride, dilation, padding.
    """
    real = Quantized("float32")
    made = pool2d(
        kind, real, real, shape=shape, filter_shape=filter_shape, window=window, tail=None
    )
    return replace(made, real=RealTail())


def real_softmax(*, rows: int, columns: int) -> Workload:
    """Softmax over K of x[B,K]."""
    sizes = {"B": rows, "K": columns}
    operands = (_real("x", sizes, ("B", "K")), _real("y", sizes, ("B", "K")))
    return Workload("softmax", tuple(sizes.items()), operands, real=RealTail())


def layer_norm(*, rows: int, columns: int, epsilon: float) -> Workload:
    """(x - mean) / sqrt(variance + epsilon) * weight[K] + bias[K] over K of x[B,K]."""
    return _norm("layer_norm", rows, columns, epsilon)


def rms_norm(*, rows: int, columns: int, epsilon: float) -> Workload:
    """X / sqrt(mean of x^2 + epsilon) * weight[K] over K of x[B,K]."""
    return _norm("rms_norm", rows, columns, epsilon)


def _norm(kind: Kind, rows: int, columns: int, epsilon: float) -> Workload:
    sizes = {"B": rows, "K": columns}
    names = ("weight", "bias") if kind == "layer_norm" else ("weight",)
    operands = (
        _real("x", sizes, ("B", "K")),
        *(_real(name, sizes, ("K",), True) for name in names),
        _real("y", sizes, ("B", "K")),
    )
    parameters = (("epsilon", epsilon),)
    return Workload(kind, tuple(sizes.items()), operands, real=RealTail(), parameters=parameters)


def attention(
    *,
    batch: int,
    heads: int,
    queries: int,
    keys: int,
    size: int,
    value_size: int,
    factor: float,
    mask: Sequence[str] | None = None,
    known: bool = False,
) -> Workload:
    """softmax(x x1^T * factor + mask) x2, heads interleaved.

    x[B,OY,G,C] queries, x1[B,OX,G,C] keys, x2[B,OX,G,K] values -> y[B,OY,G,K].

    Args:
        batch: B.
        heads: G.
        queries: OY.
        keys: OX.
        size: C, of a query and a key.
        value_size: K.
        factor: of the scores.
        mask: axes of what is added to the scores, some of ("B", "G", "OY", "OX") in this order:
            it is the same along those that are not there; None where nothing is added.
        known: whether that is constant.
    """
    sizes = {"B": batch, "G": heads, "OY": queries, "OX": keys, "C": size, "K": value_size}
    operands = [
        _real("x", sizes, ("B", "OY", "G", "C")),
        _real("x1", sizes, ("B", "OX", "G", "C")),
        _real("x2", sizes, ("B", "OX", "G", "K")),
        _real("y", sizes, ("B", "OY", "G", "K")),
    ]
    if mask is not None:
        operands.insert(3, _real("mask", sizes, mask, known))
    return Workload(
        "attention", tuple(sizes.items()), tuple(operands), real=RealTail(factor=factor)
    )


def real_pair(kind: Kind, *, elements: int, tail: RealTail = RealTail()) -> Workload:
    """`add` or `mul` of x[B,K] and x1[B,K], element by element, B 1; then the activation."""
    return _elements(kind, ("x", "x1"), elements, tail)


def function(activation: Activation, *, elements: int) -> Workload:
    """A function of each element of x[B,K], B 1."""
    return _elements("function", ("x",), elements, RealTail(activation))


def _elements(kind: Kind, inputs: Sequence[str], elements: int, tail: RealTail) -> Workload:
    sizes = {"B": 1, "K": elements}
    operands = tuple(_real(name, sizes, ("B", "K")) for name in (*inputs, "y"))
    return Workload(kind, tuple(sizes.items()), operands, real=tail)


#: Gates of a recurrent cell, in ONNX's order: update, reset, new; input, output, forget, cell.
GATES: Mapping[Kind, int] = {"gru": 3, "lstm": 4}


def recurrent(
    kind: Kind,
    *,
    steps: int,
    batch: int,
    inputs: int,
    hidden: int,
    initial: bool = False,
    cell: bool = False,
    known: Sequence[str] = (),
    last_cell: bool = False,
    cell_clip: float = 0.0,
    state_codes: str = "",
    input_codes: str = "",
    integer_rows: bool = False,
    linear_before_reset: bool = True,
    quantized: Quantized | None = None,
) -> Workload:
    """A GRU or LSTM over OY time steps: x[OY,B,C] -> y[OY,B,K], every state.

    weight[G*K,C], recurrent[G*K,FX] (FX the state's K as a reduction) and bias[2,G*K] (of the
    input's and of the state's product), gates in ONNX's order. `x1[B,K]` is the first state where
    `initial`, `x2[B,K]` the first cell where `cell`; else zero. `last_cell` makes y[OY + 1,B,K].

    Args:
        kind: "gru" or "lstm".
        steps: of time.
        batch: sequences side by side.
        inputs: of a step.
        hidden: elements of a state.
        initial: the first state is an operand.
        cell: the first cell of an LSTM is one.
        known: which of "x1" and "x2" are known at compile time.
        last_cell: the cell after an LSTM's last step stands behind the states.
        cell_clip: largest magnitude of an LSTM's cells, to which each step cuts them; 0 for none.
        state_codes: how an LSTM's state is stored before a product reads it: `codes.CODES`.
        input_codes: how its x, all steps as one row, is stored before, likewise.
        integer_rows: its weights are integers of 8 bits times a scale for each row.
        linear_before_reset: of a GRU, as ONNX means it.
        quantized: what x is stored as; None where it is float32.
    """
    gates = GATES[kind]
    sizes = {"OY": steps, "B": batch, "G": gates, "K": hidden, "C": inputs, "FX": hidden}
    gate, rows = Axis((("G", hidden), ("K", 1))), gates * hidden
    first = _stored_as(_real("x", sizes, ("OY", "B", "C")), quantized)
    given = [name for name, there in (("x1", initial), ("x2", cell)) if there]
    states = [replace(_real(n, sizes, ("B", "K")), constant=n in known) for n in given]
    y = replace(_real("y", sizes, ("OY", "B", "K")), shape=(steps + last_cell, batch, hidden))
    operands = [
        first,
        *states,
        Operand("weight", "float32", (rows, inputs), (gate, Axis((("C", 1),))), True),
        Operand("recurrent", "float32", (rows, hidden), (gate, Axis((("FX", 1),))), True),
        Operand("bias", "float32", (2, rows), (Axis(()), gate), True),
        y,
    ]
    told = _lstm_numbers(cell_clip, (state_codes, input_codes), integer_rows)
    if kind == "gru":
        told = (("linear_before_reset", float(linear_before_reset)),)
    return Workload(kind, tuple(sizes.items()), tuple(operands), real=RealTail(), parameters=told)


def _stored_as(x: Operand, quantized: Quantized | None) -> Operand:
    """`x` as integers, where it is."""
    if quantized is None:
        return x
    scale, zero = quantized.scale, quantized.zero_point
    return replace(x, dtype=quantized.dtype, scale=scale, zero_point=zero)


def _lstm_numbers(
    cell_clip: float, codes: tuple[str, str], integer_rows: bool
) -> tuple[tuple[str, float], ...]:
    """Parameters of an LSTM: what differs from the plain one; `codes` of states and x."""
    of_states, of_x = (float(CODES.index(each)) for each in codes)
    told = {"cell_clip": cell_clip, "state_codes": of_states, "input_codes": of_x}
    told["integer_rows"] = float(integer_rows)
    return tuple((name, value) for name, value in told.items() if value)
