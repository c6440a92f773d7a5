"""How close a float32 layer must be to its reference: a bound of every element, derived.

`real_expected` computes what a workload means in float64, with a forward error bound of each
element (`match_aie.workload.running` has the rules and their source). For a sum of n products it is
gamma_n times the sum of the magnitudes of the products: it grows with the length of the reduction
and with what cancels, not with the result. What the tail adds:

- factor, bias and residual an operation each;
- ReLU and clips nothing; other activations their slope times the bound before them, and the error
  that their float32 form states (`ma_cpu_float.h`);
- a softmax the errors of exponentials, of the sum and of the quotient.

Recurrent layers store every state, so each step is checked from the state that the emitted code
really had, and errors do not pile up over time; an LSTM's cell is carried with its bound.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from match_aie.errors import OptionError
from match_aie.workload.attention_bound import attention_expected
from match_aie.workload.bfloat16 import TINY_BFLOAT16, UNIT_BFLOAT16, while_waiting
from match_aie.workload.block_float import largest_in_blocks, lost_in_blocks
from match_aie.workload.codes import coded
from match_aie.workload.narrow import stored_narrow
from match_aie.workload.real_reference import (
    FLOAT32_MAX,
    MEANING,
    activate,
    attention_mask,
    by_dim,
    read_input,
    sigmoid,
    stored,
)
from match_aie.workload.recurrent_bound import recurrent_expected
from match_aie.workload.rows_bfloat16 import ROWS_BFLOAT16
from match_aie.workload.rows_bound import rows_expected
from match_aie.workload.running import (
    TINY,
    UNIT,
    Near,
    exact,
    gamma,
    product,
    rounded,
    summed,
    wrong,
)
from match_aie.workload.short_floats import SHORT_PAIRS, ShortFloat, short_float
from match_aie.workload.workload import RealTail, Workload

Arrays = Mapping[str, np.ndarray]

#: Relative errors of the functions in float32: 1, 2 and 3 units in the last place, which are two
#: roundings each, and what arguments lose.
_EXP, _TANH, _SIGMOID = 2 * UNIT, 4 * UNIT, 6 * UNIT
#: Below the normal numbers exponentials are off by no more than this.
_VANISHED = 2.0**-125
#: Exponentials of numbers below are 0, in float64 too.
_HIDDEN = -1000.0
#: Steepest slopes of x * sigmoid(x) and of both forms of GELU: 1.0998 and 1.1290.
_STEEPEST = 1.13
#: x * sigmoid(x): the function's error and a product.
_SILU = 8 * UNIT
#: GELU, relative to its argument: erf within 3 units in the last place of an argument that was
#: rounded twice, and two operations; the other form's argument is rounded six times.
_GELU = 9 * UNIT


def real_expected(
    workload: Workload,
    inputs: Sequence[np.ndarray],
    constants: Arrays,
    got: np.ndarray,
) -> Near:
    """What the elements of a float32 workload's output are, and how far they may be off.

    Args:
        workload: with a real tail.
        inputs: one array per `workload.inputs`, of its shape and dtype.
        constants: by operand name.
        got: the output to be checked; recurrent layers read their states from it.

    Raises:
        OptionError: a number of arrays that is not the workload's.
    """
    if len(inputs) != len(workload.inputs):
        raise OptionError(f"{len(inputs)} input arrays for {len(workload.inputs)} inputs")
    arrays = dict(constants)
    arrays.update(zip((o.name for o in workload.inputs), inputs, strict=True))
    states = got.reshape(workload.output.shape)
    with np.errstate(over="ignore", invalid="ignore"):
        if workload.rounded and workload.kind in ROWS_BFLOAT16:
            return rows_expected(workload, arrays)
        if workload.rounded and workload.kind in _RECURRENT:
            return recurrent_expected(workload, arrays, states)
        if workload.rounded and workload.kind == "attention":
            return attention_expected(workload, arrays)
        if workload.kind in _RECURRENT:
            return _RECURRENT[workload.kind](workload, arrays, states)
        found = _BOUNDS.get(workload.kind, _sum)(workload, arrays)
        dtype = workload.output.dtype
        return found if dtype == "float32" else stored_narrow(found, dtype)


def within_bound(
    workload: Workload, inputs: Sequence[np.ndarray], constants: Arrays, got: np.ndarray
) -> np.ndarray:
    """Per element of `got`, whether it is as close as `real_expected` asks.

    Args:
        workload: a float32 layer.
        inputs: of the layer.
        constants: by operand.
        got: its output.
    """
    return ~wrong(got, real_expected(workload, inputs, constants, got))


def _sum(workload: Workload, arrays: Arrays) -> Near:
    """Sums of products and averages: what is added, then the tail."""
    tail = workload.real or RealTail()
    d = workload.sizes
    terms = d["FY"] * d["FX"] * (1 if workload.kind == "avg_pool2d" else d["C"])
    added = {name: array for name, array in arrays.items() if name != "residual"}
    whole = replace(workload, real=RealTail(factor=tail.factor))
    positive = replace(workload, real=RealTail(factor=abs(tail.factor)))
    value = MEANING[workload.kind](whole, added)
    magnitude = MEANING[workload.kind](positive, {n: np.abs(a) for n, a in added.items()})
    # Each product goes through its own rounding and those of all sums; then factor, or the
    # division of an average, and bias.
    error = gamma(terms + 3) * magnitude + terms * TINY
    short = short_float(workload)
    if short is not None:
        most = MEANING[workload.kind](positive, _rounded_first(added, short.unit, short.tiny))
        error = most - magnitude + lost_in_short_sums(short, terms, most)
    elif workload.rounded:
        # Both operands of a product are rounded first, and in the end the sum.
        blocks = tail.precision == "bfp16"
        largest = _rounded_first(added, UNIT_BFLOAT16, TINY_BFLOAT16)
        largest = _made_blocks(largest) if blocks else largest
        most = MEANING[workload.kind](positive, largest)
        lost = lost_in_blocks(terms) if blocks else 0.0
        error = (gamma(terms + 3) + lost) * most + terms * TINY + most - magnitude
        error = while_waiting(workload, error, most)
        error = error + UNIT_BFLOAT16 * (np.abs(value) + error) + TINY_BFLOAT16
    total = Near(value, np.where(np.isfinite(value), error, 0.0))
    if "residual" in arrays:
        total = total + exact(arrays["residual"])
    return _activated(total, tail)


def _rounded_first(added: Arrays, unit: float, tiny: float) -> Arrays:
    """The largest magnitudes that a rounding makes of what is multiplied; biases stay."""

    def grown(values: np.ndarray) -> np.ndarray:
        return np.asarray(np.abs(values.astype(np.float64)) * (1 + unit) + tiny)

    return {name: np.abs(a) if name == "bias" else grown(a) for name, a in added.items()}


def _made_blocks(added: Arrays) -> Arrays:
    """The same of what becomes blocks along its last axis, which is the reduction."""
    return {name: a if name == "bias" else largest_in_blocks(a) for name, a in added.items()}


def lost_in_short_sums(of: ShortFloat, terms: int, most: np.ndarray) -> np.ndarray:
    """What sums of `terms` products lose whose magnitudes sum up to `most`.

    A product goes through the roundings of a short sum, of one product more at most, and then
    through those of all sums of float32, two for every short one, and bias.
    """
    lost = (SHORT_PAIRS + 1) * of.unit
    short = lost / (1.0 - lost)
    sums = -(-terms // (2 * SHORT_PAIRS))
    error = short * most + terms * 2 * of.tiny
    return np.asarray(error + gamma(2 * sums + 3) * (most + error) + terms * TINY)


def _function(workload: Workload, arrays: Arrays) -> Near:
    return _activated(exact(arrays["x"]), workload.real or RealTail())


def _maximum(workload: Workload, arrays: Arrays) -> Near:
    return exact(MEANING[workload.kind](workload, arrays))


def _activated(total: Near, tail: RealTail) -> Near:
    """The activation, with its slope and its own error."""

    def function(value: np.ndarray) -> np.ndarray:
        return activate(value, tail)

    match tail.activation:
        case "tanh":
            return total.through(function, 1.0, _TANH, TINY)
        case "sigmoid":
            return total.through(function, 0.25, _SIGMOID, _VANISHED)
        case "silu":
            found = total.through(function, _STEEPEST, _SILU, TINY)
            return Near(found.value, found.error + np.abs(total.value) * _VANISHED)
        case "gelu" | "gelu_tanh":
            found = total.through(function, _STEEPEST, 2 * UNIT, TINY)
            return Near(found.value, found.error + np.abs(total.value) * (_GELU + _VANISHED))
        case _:
            return total.through(function, 1.0, 0.0, 0.0)


def _exponentials(scores: Near) -> Near:
    """exp(x - max(x)) along the last axis; the maximum itself cancels, whichever it is."""
    most = scores.value.max(axis=-1, keepdims=True)
    below = rounded(scores.value - most, scores.error)
    value = np.exp(below.value)
    # What a mask hides is 0, however much its rounding moves it.
    error = np.where(below.value + below.error < _HIDDEN, 0.0, below.error)
    return Near(value, value * (np.expm1(error) + _EXP * np.exp(error)) + _VANISHED)


def _inverse(total: Near) -> Near:
    """1 / total."""
    least = np.maximum(total.value - total.error, 0.0)
    with np.errstate(divide="ignore"):
        return rounded(1.0 / total.value, total.error / (total.value * least))


def _softmax(workload: Workload, arrays: Arrays) -> Near:
    del workload
    powers = _exponentials(exact(arrays["x"]))
    return powers * _inverse(summed(powers))


def _layer_norm(workload: Workload, arrays: Arrays) -> Near:
    """In two passes, as the reference is written."""
    x = exact(arrays["x"])
    count = x.value.shape[-1]
    mean = _mean(x, count)
    centred = x + Near(-mean.value, mean.error)
    scale = _inverse_root(centred * centred, workload)
    return centred * scale * exact(arrays["weight"]) + exact(arrays["bias"])


def _rms_norm(workload: Workload, arrays: Arrays) -> Near:
    x = exact(arrays["x"])
    scale = _inverse_root(x * x, workload)
    return x * scale * exact(arrays["weight"])


def _inverse_root(squares: Near, workload: Workload) -> Near:
    """1 / sqrt(mean of squares + epsilon); 0 where their sum overflows, either where it may."""
    whole = summed(squares)
    found = _inverse_root_of(_mean(squares, squares.value.shape[-1]), workload)
    over = whole.value > FLOAT32_MAX
    certain = over & (whole.value - whole.error > FLOAT32_MAX)
    unsure = (whole.value + whole.error >= FLOAT32_MAX) & ~certain
    error = np.where(unsure, found.value + found.error, np.where(certain, 0.0, found.error))
    return Near(np.where(over, 0.0, found.value), error)


def _inverse_root_of(power: Near, workload: Workload) -> Near:
    """1 / sqrt(power + epsilon)."""
    total = power + exact(np.array(workload.parameter("epsilon"), np.float32))
    with np.errstate(divide="ignore"):
        value = 1.0 / np.sqrt(total.value)
        least = np.maximum(total.value - total.error, 0.0)
        error = 1.0 / np.sqrt(least) - value
    return rounded(value, error, 3)


def _mean(x: Near, count: int) -> Near:
    total = summed(x)
    return rounded(total.value / count, total.error / count, 2)


def _attention(workload: Workload, arrays: Arrays) -> Near:
    """Scores, exponentials, sums of values, and the quotient."""
    parts = (("x", "OY", "C"), ("x1", "OX", "C"), ("x2", "OX", "K"))
    q, k, v = (
        exact(by_dim(arrays[name], workload.operand(name), ("B", "G", row, column)))
        for name, row, column in parts
    )
    tail = workload.real or RealTail()
    scores = product(q, Near(k.value.swapaxes(-1, -2), k.error.swapaxes(-1, -2)))
    scores = scores * exact(np.array(tail.factor))
    if "mask" in arrays:
        scores = scores + exact(attention_mask(workload, arrays))
    powers = _exponentials(scores)
    found = product(powers, v) * _inverse(summed(powers))
    axes = ("B", "G", "OY", "K")
    return Near(stored(found.value, workload, axes), stored(found.error, workload, axes))


def _biased(data: np.ndarray, weight: np.ndarray, bias: np.ndarray) -> Near:
    """Data @ weight^T + bias, where sums may start from the bias."""
    total = product(exact(data), exact(weight.T))
    error = total.error + gamma(data.shape[-1] + 1) * np.abs(bias)
    return Near(total.value + bias, error + UNIT * np.abs(total.value + bias))


def _logistic(total: Near) -> Near:
    """Both are in [0, 1], but for the function's own error: large sums do not count for more."""
    return total.through(sigmoid, 0.25, _SIGMOID, _VANISHED).within(1.0 + _SIGMOID)


def _bent(total: Near) -> Near:
    """Both are in [-1, 1], but for the function's own error."""
    return total.through(np.tanh, 1.0, _TANH, TINY).within(2.0 + _TANH)


def _begin(workload: Workload, arrays: Arrays, states: np.ndarray) -> np.ndarray:
    """The state before each step, as the products of the emitted code had it."""
    first = arrays.get("x1", np.zeros(states.shape[1:], np.float32))
    states = np.concatenate([first[None], states[:-1]])
    return coded(states, workload.state_codes).astype(np.float64)


def _gru(workload: Workload, arrays: Arrays, states: np.ndarray) -> Near:
    """One step from every state; see the reference for the equations."""
    k, bias = workload.sizes["K"], arrays["bias"]
    h = _begin(workload, arrays, states)
    seen = _biased(arrays["x"], arrays["weight"], bias[0])
    weight = arrays["recurrent"]
    of_state = _biased(h, weight, bias[1])
    both = [seen.last(at, at + k) + of_state.last(at, at + k) for at in (0, k)]
    z, r = _logistic(both[0]), _logistic(both[1])
    if workload.parameter("linear_before_reset"):
        inner = r * of_state.last(2 * k, 3 * k)
    else:
        reset = product(r * exact(h), exact(weight[2 * k :].T))
        more = gamma(k + 1) * np.abs(bias[1][2 * k :])
        inner = Near(reset.value, reset.error + more) + exact(bias[1][2 * k :])
    n = _bent(seen.last(2 * k, 3 * k) + inner)
    value = (1.0 - z.value) * n.value + z.value * h
    error = np.abs(h - n.value) * z.error + (1.0 - z.value + z.error) * n.error
    lost = gamma(3) * (np.abs(h) + np.abs(n.value) + n.error)
    return Near(value, error + lost + TINY)


def _lstm(workload: Workload, arrays: Arrays, states: np.ndarray) -> Near:
    """One step from every state, the cell carried.

    A step makes f c + i g, with f and i in [0, 1] and g in [-1, 1] but for errors and three
    roundings; so after n steps no cell, exact or computed, is larger than n and the first cell's
    magnitude, times (1 + grown)^n.
    """
    k, bias, states = workload.sizes["K"], arrays["bias"], states[: workload.sizes["OY"]]
    h = _begin(workload, arrays, states)
    x = read_input(workload, arrays)
    total = _biased(x, arrays["weight"], bias[0]) + _biased(h, arrays["recurrent"], bias[1])
    i, o, f = (_logistic(total.last(at * k, (at + 1) * k)) for at in range(3))
    added = i * _bent(total.last(3 * k, 4 * k))
    first = arrays.get("x2", np.zeros(states.shape[1:])).astype(np.float64)
    cell = exact(first)
    grown = _SIGMOID + _TANH + 4 * UNIT
    found = []
    for step in range(len(states)):
        cell = f.step(step) * cell + added.step(step)
        most = (step + 1 + np.abs(first)) * (1.0 + grown) ** (step + 1)
        cell = cell.within(np.abs(cell.value) + most)
        if workload.cell_clip:
            cell = Near(np.clip(cell.value, -workload.cell_clip, workload.cell_clip), cell.error)
        found.append(o.step(step) * _bent(cell))
    if workload.gives_cell:
        found.append(cell)
    return Near(np.stack([f.value for f in found]), np.stack([f.error for f in found]))


_BOUNDS: Mapping[str, Callable[[Workload, Arrays], Near]] = {
    "function": _function,
    "max_pool2d": _maximum,
    "softmax": _softmax,
    "layer_norm": _layer_norm,
    "rms_norm": _rms_norm,
    "attention": _attention,
}
_RECURRENT: Mapping[str, Callable[[Workload, Arrays, np.ndarray], Near]] = {
    "gru": _gru,
    "lstm": _lstm,
}
