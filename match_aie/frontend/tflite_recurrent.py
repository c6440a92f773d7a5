"""Recurrent operators of TFLite files; states are kept between calls.

LSTMs without peepholes and projections are layers (`tflite_lstm`), the others are written out step
by step.

Formulas: LiteRT's reference kernels (`lstm_eval.cc`, `kernel_utils.cc`, `internal/reference/svdf.h`
in TensorFlow 2.16). Shapes: T steps, B rows, I inputs, H hidden units, P projected units (H where
nothing projects), F filters of an SVDF, M steps of its memory.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.frontend import tflite_integer_lstm, tflite_lstm
from match_aie.frontend.tflite_site import SPAN, STATES, Array, Expr, Site, is_time_major, steps_of

#: How many operands each has at least, and at most; shorter LSTMs have no layer normalisation.
_OPERANDS = {
    **dict.fromkeys(("RNN", "SVDF", "UNIDIRECTIONAL_SEQUENCE_RNN"), (5, 5)),
    "BIDIRECTIONAL_SEQUENCE_RNN": (9, 12),
    **dict.fromkeys(("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM"), (20, 24)),
    "BIDIRECTIONAL_SEQUENCE_LSTM": (39, 48),
}

#: The operands that must be there beside states, of the first direction.
_NEEDED = {
    **dict.fromkeys(("RNN", "UNIDIRECTIONAL_SEQUENCE_RNN", "BIDIRECTIONAL_SEQUENCE_RNN"), (1, 2)),
    "SVDF": (1, 2),
    **dict.fromkeys(
        ("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM", "BIDIRECTIONAL_SEQUENCE_LSTM"),
        (2, 3, 4, 6, 7, 8, 13, 14, 15),
    ),
}

#: Operands that make a second input and its weights, from this one on.
_AUXILIARY = {"BIDIRECTIONAL_SEQUENCE_RNN": 9, "BIDIRECTIONAL_SEQUENCE_LSTM": 39}

#: `ActivationFunctionType` of the schema -> the function.
ACTIVATIONS: Mapping[int, Callable[[Expr], Expr]] = MappingProxyType(
    {
        0: lambda x: x,
        1: relax.op.nn.relu,
        2: lambda x: relax.op.clip(x, -1, 1),
        3: lambda x: relax.op.clip(x, 0, 6),
        4: relax.op.tanh,
    }
)


def problem(
    kind: str, given: Any, present: Sequence[bool], *, integers: bool = False
) -> str | None:
    """Why a recurrent operator is refused, None where it is not.

    Args:
        kind: its name.
        given: its attributes; None where it has none.
        present: by operand, whether it is there.
        integers: whether activations are.
    """
    least, most = _OPERANDS[kind]
    if given is None or not least <= len(present) <= most:
        return f"it has {len(present)} operands and {least} to {most} are known, or no attributes"
    if given.FusedActivationFunction() not in ACTIVATIONS:
        return f"activation {given.FusedActivationFunction()} is not known"
    directions = (0, SPAN[kind]) if kind in SPAN else (0,)
    needed = [at + more for more in directions for at in _NEEDED[kind]]
    if not all(present[at] for at in (0, *needed, *STATES[kind])):
        return "an operand that it needs is left out"
    if any(present[_AUXILIARY.get(kind, len(present)) :]):
        return "a second input beside the sequence is not compiled"
    if kind.endswith("LSTM"):
        if kind not in SPAN and any(present[20:]) and not integers:
            return "a layer normalisation inside of its cells is not compiled"
        if any(present[1 + more] != present[5 + more] for more in directions):
            return "its input gate has weights for only one of input and state"
    return None


def convert(site: Site) -> Expr:
    """The operator's result: an expression, or a tuple of one for each direction.

    `problem` found none.
    """
    if site.kind == "SVDF":
        return _svdf(site)
    if site.integers:
        return tflite_integer_lstm.run(site)
    if not site.kind.endswith("LSTM"):
        return _layer(site, _rnn_cell)
    return _layer(site, _lstm_cell)


def written_out(site: Site) -> int:
    """How many steps become operators of their own; 0 of a layer."""
    directions = (0, SPAN[site.kind]) if site.kind in SPAN else (0,)
    if not site.integers and all(tflite_lstm.is_plain(site, base) for base in directions):
        return 0
    return steps_of(site.kind, site.given, tvm_api.shape_of(site.value(0)))


@dataclass(frozen=True)
class _Cell:
    """One direction.

    Attributes:
        weight: of the input, all gates beside each other: [I, G*H].
        bias: [G*H].
        step: (projected input [B, G*H], states) -> states; the first one is the output.
        states: positions of them among the operands.
    """

    weight: Array
    bias: Array
    step: Callable[[Expr, tuple[Expr, ...]], tuple[Expr, ...]]
    states: tuple[int, ...]


def _layer(site: Site, cell: Callable[[Site, int], _Cell]) -> Expr:
    """A sequence through one cell, or through two from both ends."""
    found = []
    for direction, base in enumerate((0, SPAN[site.kind]) if site.kind in SPAN else (0,)):
        if tflite_lstm.is_plain(site, base):
            found.append(tflite_lstm.run(site, base, reverse=bool(direction)))
        else:
            found.append(_run(site, cell(site, base), reverse=bool(direction)))
    if len(found) == 1:
        return found[0]
    if site.given.MergeOutputs():
        return relax.op.concat(found, axis=-1)
    return relax.Tuple([site.emit(one) for one in found])


def _run(site: Site, cell: _Cell, *, reverse: bool) -> Expr:
    """All steps of one direction: the sequence of outputs, in the input's layout."""
    x = site.value(0)
    shape = tvm_api.shape_of(x)
    major, steps = is_time_major(site.kind, site.given), steps_of(site.kind, site.given, shape)
    rows = 1 if len(shape) == 2 and "SEQUENCE" in site.kind else shape[-2 if major else 0]
    if len(shape) == 3 and not major:
        x = site.emit(relax.op.permute_dims(x, [1, 0, 2]))
    if len(shape) == 3:
        x = site.emit(relax.op.reshape(x, (steps * rows, shape[-1])))
    x = site.emit(relax.op.matmul(x, _const(cell.weight)))
    x = site.emit(relax.op.add(x, _const(cell.bias)))
    pieces = [x]
    if steps > 1:
        split = site.emit(relax.op.split(x, steps, axis=0))
        pieces = [site.emit(split[at]) for at in range(steps)]
    states = tuple(site.value(at) for at in cell.states)
    outputs = []
    for piece in pieces[::-1] if reverse else pieces:
        states = tuple(site.emit(state) for state in cell.step(piece, states))
        outputs.append(states[0])
    for at, state in zip(cell.states, states, strict=True):
        site.keep(at, state)
    if len(shape) == 2:
        return outputs[0]
    axis = 0 if major else 1
    return relax.op.stack(outputs[::-1] if reverse else outputs, axis=axis)


def _rnn_cell(site: Site, base: int) -> _Cell:
    """H' = act(x W^T + b + h R^T)."""
    weight, recurrent = _needed(site, 1 + base), _needed(site, 2 + base)
    bias = site.constant(3 + base)
    turned = _const(recurrent.T)
    act = ACTIVATIONS[site.given.FusedActivationFunction()]

    def step(x: Expr, states: tuple[Expr, ...]) -> tuple[Expr, ...]:
        product = site.emit(relax.op.matmul(states[0], turned))
        return (act(site.emit(relax.op.add(x, product))),)

    bias = np.zeros(len(weight), np.float32) if bias is None else bias
    return _Cell(weight.T, bias, step, (4 + base,))


@dataclass(frozen=True)
class _Gates:
    """What an LSTM cell computes with, beside the input's weights.

    Attributes:
        recurrent: [P, G*H], gates in the order input, forget, cell, output; no input gate where
            it is coupled to the forget gate.
        hidden: H.
        peepholes: [H] of input, forget and output; None where a gate does not see the cell.
        projection: ([H, P], [P]); None where nothing projects.
        act: of the cell and of what it gives out.
        clips: largest magnitudes of the cell and of the output; 0 for no bound.
    """

    recurrent: Array
    hidden: int
    peepholes: tuple[Array | None, Array | None, Array | None]
    projection: tuple[Array, Array | None] | None
    act: Callable[[Expr], Expr]
    clips: tuple[float, float]


def _lstm_cell(site: Site, base: int) -> _Cell:
    """Weights of one direction; gates are as the file has them."""
    coupled = site.constant(1 + base) is None
    order = (1, 2, 3) if coupled else (0, 1, 2, 3)
    weight = np.concatenate([_needed(site, 1 + base + gate) for gate in order])
    recurrent = np.concatenate([_needed(site, 5 + base + gate) for gate in order])
    hidden = len(weight) // len(order)
    biases = [site.constant(12 + base + gate) for gate in order]
    bias = np.concatenate([np.zeros(hidden, np.float32) if b is None else b for b in biases])
    projection = site.constant(16 + base)
    given = site.given
    gates = _Gates(
        recurrent=recurrent.T,
        hidden=hidden,
        peepholes=(
            site.constant(9 + base),
            site.constant(10 + base),
            site.constant(11 + base),
        ),
        projection=None if projection is None else (projection.T, site.constant(17 + base)),
        act=ACTIVATIONS[given.FusedActivationFunction()],
        clips=(float(given.CellClip()), float(given.ProjClip())),
    )
    kept = STATES[site.kind][2 if base else 0 :][:2]
    return _Cell(weight.T, bias, _lstm_step(site, gates), kept)


def _lstm_step(site: Site, gates: _Gates) -> Callable[[Expr, tuple[Expr, ...]], tuple[Expr, ...]]:
    """i, f, o = sigmoid(...), c' = f c + i act(...), h' = o act(c'), projected."""
    turned, emit = _const(gates.recurrent), site.emit
    looks = [None if weights is None else _const(weights) for weights in gates.peepholes]
    count = gates.recurrent.shape[1] // gates.hidden

    def gate(sum_: Expr, look: Expr | None, cell: Expr) -> Expr:
        if look is not None:
            sum_ = emit(relax.op.add(sum_, emit(relax.op.multiply(cell, look))))
        return emit(relax.op.sigmoid(sum_))

    def step(x: Expr, states: tuple[Expr, ...]) -> tuple[Expr, ...]:
        h, c = states
        sums = emit(relax.op.add(x, emit(relax.op.matmul(h, turned))))
        split = emit(relax.op.split(sums, count, axis=1))
        *first, of_forget, of_cell, of_output = (emit(split[at]) for at in range(count))
        forget = gate(of_forget, looks[1], c)
        if first:
            enter = gate(first[0], looks[0], c)
        else:
            enter = emit(relax.op.subtract(relax.const(1.0, "float32"), forget))
        fresh = emit(relax.op.multiply(enter, emit(gates.act(of_cell))))
        cell = emit(relax.op.add(emit(relax.op.multiply(forget, c)), fresh))
        cell = emit(_clipped(cell, gates.clips[0]))
        leave = gate(of_output, looks[2], cell)
        return _projected(emit, gates, emit(relax.op.multiply(leave, emit(gates.act(cell))))), cell

    return step


def _projected(emit: Callable[[Expr], Expr], gates: _Gates, h: Expr) -> Expr:
    """The output of a step: all of h, or a product of it."""
    if gates.projection is None:
        return h
    weights, bias = gates.projection
    h = emit(relax.op.matmul(h, _const(weights)))
    if bias is not None:
        h = emit(relax.op.add(h, _const(bias)))
    return _clipped(h, gates.clips[1])


def _clipped(value: Expr, bound: float) -> Expr:
    return relax.op.clip(value, -bound, bound) if bound > 0 else value


def _svdf(site: Site) -> Expr:
    """Each filter's last M features, weighted over time; filters of a unit are added.

    The memory takes the new feature before it is weighted.
    """
    weight, over_time = _needed(site, 1), _needed(site, 2)
    (filters, memory), rank = over_time.shape, site.given.Rank()
    x, emit = site.value(0), site.emit
    rows = tvm_api.shape_of(x)[0]
    feature = emit(relax.op.matmul(x, _const(weight.T)))
    held = emit(relax.op.reshape(feature, (rows, filters, 1)))
    if memory > 1:
        old = emit(relax.op.reshape(site.value(4), (rows, filters, memory)))
        kept = emit(relax.op.strided_slice(old, axes=[2], begin=[1], end=[memory]))
        held = emit(relax.op.concat([kept, held], axis=2))
    site.keep(4, emit(relax.op.reshape(held, tvm_api.shape_of(site.value(4)))))
    weighted = emit(relax.op.multiply(held, _const(over_time[None])))
    grouped = emit(relax.op.reshape(weighted, (rows, filters // rank, rank * memory)))
    result = emit(relax.op.sum(grouped, axis=-1))
    bias = site.constant(3)
    if bias is not None:
        result = emit(relax.op.add(result, _const(bias)))
    return ACTIVATIONS[site.given.FusedActivationFunction()](result)


def _needed(site: Site, position: int) -> Array:
    """Weights that `problem` has seen."""
    found = site.constant(position)
    assert found is not None
    return found


def _const(values: Array) -> Expr:
    return relax.const(np.ascontiguousarray(values, np.float32), "float32")
