"""LSTMs of TFLite files whose weights, activations and states are integers, step by step.

Formulas: LiteRT's integer kernel (`LstmStepInteger8x8_16` of `lstm_eval.cc` in TensorFlow 2.16,
with the portable functions of `tensor_utils`), bit for bit: int8 inputs, weights and outputs, int16
cells and gates. Shapes: T steps, B rows, I inputs, H hidden units, G gates (3 where the input gate
is one minus the forget gate).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import frexp
from typing import Any

import numpy as np
import tflite
from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.tflite_fixed_point import (
    LEAST,
    MOST,
    Array,
    hyperbolic_table,
    logistic_table,
    multiplier,
)
from match_aie.frontend.tflite_rows import Factors, normalised
from match_aie.frontend.tflite_site import Expr, Site, is_time_major, steps_of
from match_aie.frontend.tflite_wide import Wide, number

#: The operators, of one direction.
KINDS = ("LSTM", "UNIDIRECTIONAL_SEQUENCE_LSTM")

#: First operands of weights of inputs and of states, of biases, of factors of normalised sums.
_INPUT, _STATE, _BIASES, _FACTORS = 1, 5, 12, 20
#: Operands that are not compiled: peepholes, a projection and its bias.
_OTHERS = (*range(9, 12), 16, 17)
#: The states.
_HIDDEN, _CELL = 18, 19
#: Place of the output among the inner results, behind the gates.
_OUTPUT = 4
#: Scale of a gate's sum that is not normalised, of results of tanh and logistic.
_SUM, _UNIT = np.float32(2.0**-12), np.float32(2.0**-15)
#: Exponents of two that the scale of a cell may be: tanh is known for 0 to 6 bits before the point.
_CELLS = range(-15, -8)

_TYPES = tflite.TensorType


def problem(kind: str, given: Any, tensors: Sequence[Any], inner: Sequence[Any]) -> str | None:
    """Why an LSTM of integers is refused, None where it is not.

    Args:
        kind: its name; `tflite_recurrent.problem` found none.
        given: its attributes.
        tensors: its operands.
        inner: (scale, zero point) of what it says of its inner results.
    """
    if kind not in KINDS:
        return "of integers, both ways are not compiled"
    there = {at for at, tensor in enumerate(tensors) if tensor.tensor_idx >= 0}
    if there.intersection(_OTHERS):
        return "of integers, peepholes and projections are not compiled"
    if given.FusedActivationFunction() != tflite.ActivationFunctionType.TANH:
        return "of integers, only tanh is compiled"
    gates = _gates(there)
    normed = there.intersection(range(_FACTORS, _FACTORS + 4))
    if normed and normed != {_FACTORS + gate for gate in gates}:
        return "its sums are normalised in only some of its gates"
    types = {0: _TYPES.INT8, _HIDDEN: _TYPES.INT8, _CELL: _TYPES.INT16}
    for gate in gates:
        types |= dict.fromkeys((_INPUT + gate, _STATE + gate), _TYPES.INT8)
        types[_BIASES + gate] = _TYPES.INT32
    types |= dict.fromkeys(normed, _TYPES.INT16)
    for at in sorted(types):
        if at not in there or tensors[at].tensor.Type() != types[at]:
            return "of integers, it has int8 activations and weights, int16 cells, int32 biases"
        if at not in (0, _HIDDEN, _CELL) and not tensors[at].buffer.DataLength():
            return "of integers, its weights must be in the file"
        if at not in range(_BIASES, _BIASES + 4) and not _is_whole(tensors[at], types[at]):
            return "its integers are not quantised as a whole, weights and cells around 0"
    read = (*(gates if normed else ()), _OUTPUT)  # others are there, and say nothing
    if len(inner) != 5 or any(inner[at][0] <= 0 for at in read):
        return "it does not say how its inner results are quantised"
    if _power(_scale(tensors[_CELL])) not in _CELLS:
        return "the scale of its cells is no power of two from 2^-15 to 2^-9"
    return None


def run(site: Site) -> Expr:
    """All steps: the sequence of outputs as int8, in the input's layout."""
    x = site.value(0)
    shape = tvm_api.shape_of(x)
    major, steps = is_time_major(site.kind, site.given), steps_of(site.kind, site.given, shape)
    if len(shape) == 3 and not major:
        x = site.emit(relax.op.permute_dims(x, [1, 0, 2]))
    cell = _cell(site)
    sums = cell.scaled_sum(site.emit(relax.op.reshape(x, (-1, shape[-1]))), _INPUT)
    pieces = [sums]
    if steps > 1:
        split = site.emit(relax.op.split(sums, steps, axis=0))
        pieces = [site.emit(split[at]) for at in range(steps)]
    h, c = site.value(_HIDDEN), cell.wide.of(site.value(_CELL))
    outputs = []
    for piece in pieces:
        h, c = cell.step(piece, h, c)
        outputs.append(h)
    site.keep(_HIDDEN, h)
    site.keep(_CELL, site.emit(relax.op.astype(c, "int16")))
    if len(shape) == 2:
        return h
    return relax.op.stack(outputs, axis=0 if major else 1)


@dataclass(frozen=True)
class _Cell:
    """What a step computes with.

    Attributes:
        site: the operator.
        wide: arithmetic there.
        gates: those that are there, of input, forget, cell, output.
        hidden: H.
        inner: scale of each gate's sum.
        factors: of normalised sums; None where nothing normalises them.
        tables: of the logistic function, of tanh of a gate's sum and of a cell.
        point: exponent of two of a cell's scale.
        clip: largest magnitude of a cell, 0 for no bound.
    """

    site: Site
    wide: Wide
    gates: tuple[int, ...]
    hidden: int
    inner: tuple[np.float32, ...]
    factors: Factors | None
    tables: tuple[Expr, Expr, Expr]
    point: int
    clip: int

    def scaled_sum(self, rows: Expr, first: int) -> Expr:
        """Products of int8 `rows` [R, N] with all gates' weights, as the gates' sums have them.

        The zero point is in the bias, as in LiteRT: [R, G H], not yet within 16 bits.
        """
        scale, zero = self.site.quantised(0 if first == _INPUT else _HIDDEN)
        weights, biases, wholes, exponents = [], [], [], []
        for at, gate in enumerate(self.gates):
            weight = _stored(self.site, first + gate)
            own = self.site.quantised(first + gate)[0]
            bias = -zero * weight.astype(np.int64).sum(1)
            if first == _INPUT and self.factors is None:
                bias = bias + _stored(self.site, _BIASES + gate)
            whole, exponent = multiplier(float(own * scale / self.inner[at]))
            weights.append(weight)
            biases.append(bias)
            wholes.append(np.full(self.hidden, whole))
            exponents.append(np.full(self.hidden, exponent))
        turned = relax.const(np.ascontiguousarray(np.concatenate(weights).T), "int8")
        products = self.site.emit(relax.op.matmul(rows, turned, out_dtype="int32"))
        total = self.wide.add(self.wide.of(products), number(np.concatenate(biases)))
        return self.wide.scaled(total, np.concatenate(wholes), np.concatenate(exponents))

    def step(self, of_input: Expr, h: Expr, c: Expr) -> tuple[Expr, Expr]:
        """int8 [B, H] and the cell in 64 bits, after a step."""
        wide, emit = self.wide, self.site.emit
        sums = wide.add(wide.clipped(of_input), self.scaled_sum(h, _STATE))
        sums = wide.clipped(sums)
        if self.factors is not None:
            rows = tvm_api.shape_of(sums)[0]
            apart = emit(relax.op.reshape(sums, (rows, len(self.gates), self.hidden)))
            sums = normalised(wide, apart, self.factors)
            sums = emit(relax.op.reshape(sums, (rows, -1)))
        split = emit(relax.op.split(sums, len(self.gates), axis=1))
        logistic, squash, squash_cell = self.tables
        of = {gate: emit(split[at]) for at, gate in enumerate(self.gates)}
        made = {
            gate: self._looked_up(squash if gate == 2 else logistic, value)
            for gate, value in of.items()
        }
        enter = made[0] if 0 in made else wide.less(number(MOST), made[1])
        kept = wide.divided(wide.times(made[1], c), 15)
        fresh = wide.divided(wide.times(enter, made[2]), 30 + self.point)
        c = wide.clipped(wide.add(kept, fresh))
        if self.clip:
            c = wide.clipped(c, -self.clip, self.clip)
        scale, zero = self.site.inner[_OUTPUT]
        whole, exponent = multiplier(float(_UNIT / scale * _UNIT))
        out = wide.times(made[3], self._looked_up(squash_cell, c))
        out = wide.add(wide.scaled(out, whole, exponent), number(zero))
        return emit(relax.op.astype(wide.clipped(out, -128, 127), "int8")), c

    def _looked_up(self, table: Expr, value: Expr) -> Expr:
        """What a table says of numbers of 16 bits, in 64."""
        place = self.wide.less(value, number(LEAST))
        return self.wide.of(self.site.emit(relax.op.take(table, place, axis=0, mode="fast")))


def _cell(site: Site) -> _Cell:
    """What the file says of the layer."""
    there = {at for at in range(_FACTORS + 4) if site.stored(at) is not None}
    gates, factors = _gates(there), None
    inner = tuple(_SUM for _ in gates)
    if _FACTORS + 1 in there:
        inner = tuple(site.inner[gate][0] for gate in gates)
        factors = Factors(
            np.stack([_stored(site, _FACTORS + gate) for gate in gates]),
            np.stack([_stored(site, _BIASES + gate) for gate in gates]),
            tuple(float(site.quantised(_FACTORS + gate)[0]) for gate in gates),
        )
    of_cell = site.quantised(_CELL)[0]
    point = _power(of_cell)
    assert point is not None
    squash = hyperbolic_table(3)
    others = squash if point == -12 else hyperbolic_table(15 + point)
    clip = site.given.CellClip()
    return _Cell(
        site=site,
        wide=Wide(site.emit),
        gates=gates,
        hidden=len(_stored(site, _INPUT + 1)),
        inner=inner,
        factors=factors,
        tables=tuple(relax.const(t, "int16") for t in (logistic_table(), squash, others)),
        point=point,
        clip=int(min(float(clip) / float(of_cell), MOST)) if clip > 0 else 0,
    )


def _gates(there: set[int]) -> tuple[int, ...]:
    """Gates that have weights."""
    return (0, 1, 2, 3) if _INPUT in there else (1, 2, 3)


def _stored(site: Site, position: int) -> Array:
    """Integers that `problem` has seen."""
    found = site.stored(position)
    assert found is not None
    return found


def _is_whole(tensor: Any, kind: int) -> bool:
    """Whether a tensor has one scale, and no zero point where it is not an int8 activation."""
    if tensor.qnn_params is None:
        return False
    scale, zero = (tvm_api.constant_value(tensor.qnn_params[n]) for n in ("scale", "zero_point"))
    activation = kind == _TYPES.INT8 and not tensor.buffer.DataLength()
    return bool(scale.size == 1 and scale.flat[0] > 0 and (activation or not np.any(zero)))


def _scale(tensor: Any) -> np.float32:
    return np.float32(tvm_api.constant_value(tensor.qnn_params["scale"]).flat[0])


def _power(scale: np.float32) -> int | None:
    """The exponent of two that a scale is; None where it is none."""
    fraction, exponent = frexp(float(scale))
    return exponent - 1 if fraction == 0.5 else None
