"""RNN, GRU and LSTM in primitive operators, unrolled over time.

Formulas: the operators' own pages in the ONNX specification. Shapes there and here: T steps,
B rows, I inputs, H hidden units, D directions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from match_aie.frontend.onnx_rewrite.codes import coded
from match_aie.frontend.onnx_rewrite.graph import Builder, Graph, Node, Refusal
from match_aie.frontend.onnx_rewrite.recurrent_activations import Activation, activations

#: Gates of a cell, in the order in which weights stack them.
GATES = {"RNN": 1, "GRU": 3, "LSTM": 4}

#: Attribute of an LSTM that bounds the magnitude of its cells; ONNX has none.
CELL_CLIP = "cell_clip"

#: Attribute of an LSTM, which ONNX has not: how the state is stored in 8 bits before the product
#: reads it, one of `workload.codes.CODES`.
STATE_CODES = "state_codes"

#: Likewise of its input: all steps of all rows with one scale.
INPUT_CODES = "input_codes"

DIRECTIONS = {"forward": (False,), "reverse": (True,), "bidirectional": (False, True)}


def kind_of(node: Node) -> str:
    """RNN, GRU or LSTM; ONNX Runtime's LSTM of integer weights is one, too."""
    return "LSTM" if node.op.endswith("LSTM") else node.op


def problem(node: Node, graph: Graph, *, ends: bool = True) -> str | None:
    """Why a recurrent operator cannot be unrolled, None where it can; `ends`: also by lengths."""
    kind = kind_of(node)
    directions = len(DIRECTIONS.get(node.attr("direction", "forward"), ()))
    found = activations(node, kind, directions)
    if isinstance(found, str):
        return found
    if ends and node.input(4):
        lengths = graph.constant(node.input(4))
        steps = graph.shape(node.input(0))[1 if node.attr("layout", 0) else 0]
        if lengths is None or any(int(length) != steps for length in lengths.reshape(-1)):
            cells = "last cells of gates that are not 0 or 1 far from zero, of "
            return f"{cells if node.has_output(2) else ''}sequences that end early are not compiled"
    return None


@dataclass(frozen=True)
class _Sizes:
    """Sizes of one node, and whether rows come before steps."""

    steps: int
    rows: int
    inputs: int
    hidden: int
    directions: int
    batch_first: bool


@dataclass(frozen=True)
class _Direction:
    """What one direction computes with: value names.

    Attributes:
        x: projected inputs of each step, [B, G*H] with the input bias, in order of execution.
        r: what multiplies a state [B, H] by the recurrent weights.
        rb: recurrent bias [G*H], "" where there is none.
        p: peephole weights [3*H], "" where there are none.
        acts: the activations.
        one: a 1 of the element type.
        bounds: of an LSTM's cells, least and largest; () for none. They are of an attribute that
            ONNX has not, `CELL_CLIP`: TFLite's LSTMs, which come this way, have it.
        clip: bounds of gates' sums, least and largest; () for none.
        coupled: whether an LSTM's forget gate is 1 less its input gate.
    """

    x: Sequence[str]
    r: Product
    rb: str
    p: str
    acts: Sequence[Activation]
    one: str
    bounds: tuple[str, ...] = ()
    clip: tuple[str, ...] = ()
    coupled: bool = False

    def act(self, b: Builder, which: int, total: str) -> str:
        """Activation number `which` of a gate's sum, which `clip` bounds before."""
        bounded = b.op("Clip", total, *self.clip) if self.clip else total
        return self.acts[which](b, bounded, self.one)


@dataclass(frozen=True)
class Product:
    """Multiplies by float weights.

    Attributes:
        weight: name of them, transposed: [n, G*H].
        codes: how what it multiplies is stored in 8 bits before, "" where it is not; see
            `STATE_CODES`.
    """

    weight: str
    codes: str = ""

    def __call__(self, b: Builder, x: str) -> str:
        """The product: x [m, n] -> [m, G*H]."""
        return b.op("MatMul", coded(b, x, self.codes), self.weight)


#: One step: (what to compute with, projected input, state values) -> new state values.
Step = Callable[[Builder, _Direction, str, tuple[str, ...], int], tuple[str, ...]]


def rnn(node: Node, b: Builder) -> tuple[str, ...]:
    """RNN: Y, Y_h."""
    return _unroll(node, b, _rnn_step, states=1)


def gru(node: Node, b: Builder) -> tuple[str, ...]:
    """GRU: Y, Y_h; both forms of `linear_before_reset`."""
    step = _gru_step_reset_after if node.attr("linear_before_reset", 0) else _gru_step
    return _unroll(node, b, step, states=1)


def lstm(node: Node, b: Builder) -> tuple[str, ...]:
    """LSTM, with peepholes: Y, Y_h, Y_c."""
    return _unroll(node, b, _lstm_step, states=2)


def _unroll(node: Node, b: Builder, step: Step, states: int) -> tuple[str, ...]:
    why = problem(node, b.graph)
    if why is not None:
        raise Refusal(why)
    sizes = _sizes(node, b)
    reverses = DIRECTIONS[node.attr("direction", "forward")]
    histories, finals = [], []
    for d, reverse in enumerate(reverses):
        direction = _direction(node, b, sizes, (d, reverse))
        state = tuple(_initial(node, b, sizes, d, 5 + s) for s in range(states))
        history = []
        for x in direction.x:
            state = step(b, direction, x, state, sizes.hidden)
            history.append(state[0])
        histories.append(history[::-1] if reverse else history)
        finals.append(state)
    last = tuple(_stack_final(b, sizes, [final[s] for final in finals]) for s in range(states))
    return (_stack_history(b, sizes, histories) if node.has_output(0) else "", *last)


def _sizes(node: Node, b: Builder) -> _Sizes:
    first, second, inputs = b.graph.shape(node.input(0))
    directions, rows, columns = b.graph.shape(node.input(2))
    hidden = min(rows, columns)  # the other one holds several gates, but for RNN, of one
    batch_first = bool(node.attr("layout", 0))
    steps, rows = (second, first) if batch_first else (first, second)
    return _Sizes(steps, rows, inputs, hidden, directions, batch_first)


def _reshape(b: Builder, value: str, shape: Sequence[int]) -> str:
    return b.op("Reshape", value, b.const(np.array(shape, np.int64)))


def _split(b: Builder, value: str, axis: int, parts: Sequence[int]) -> list[str]:
    """Pieces along an axis; the value itself where there is one piece."""
    if len(parts) == 1:
        return [value]
    sizes = b.const(np.array(parts, np.int64))
    return b.many("Split", [value, sizes], len(parts), axis=axis)


def _pick(b: Builder, value: str, directions: int, d: int, shape: Sequence[int]) -> str:
    """The slice of direction `d` along axis 0, in another shape."""
    return _reshape(b, _split(b, value, 0, [1] * directions)[d], shape)


def _products(node: Node, b: Builder, sizes: _Sizes, d: int) -> tuple[Product, Product]:
    """By W and R of direction `d`."""
    width = GATES[kind_of(node)] * sizes.hidden
    w = _pick(b, node.input(1), sizes.directions, d, [width, sizes.inputs])
    r = _pick(b, node.input(2), sizes.directions, d, [width, sizes.hidden])
    turned = [b.op("Transpose", weight, perm=[1, 0]) for weight in (w, r)]
    codes = (node.attr(INPUT_CODES, ""), node.attr(STATE_CODES, ""))
    return Product(turned[0], codes[0]), Product(turned[1], codes[1])


def _direction(node: Node, b: Builder, sizes: _Sizes, which: tuple[int, bool]) -> _Direction:
    """Weights of one direction, and the inputs projected for all steps at once.

    Args:
        node: the layer.
        b: takes the nodes.
        sizes: of the layer.
        which: number of the direction, and whether it runs backwards.
    """
    (d, reverse), kind = which, kind_of(node)
    own = _products(node, b, sizes, d)
    width = GATES[kind] * sizes.hidden
    x = x0 = node.input(0)
    if sizes.batch_first:
        x = b.op("Transpose", x, perm=[1, 0, 2])
    x = own[0](b, _reshape(b, x, [sizes.steps * sizes.rows, sizes.inputs]))
    rb = ""
    if node.input(3):
        bias = _pick(b, node.input(3), sizes.directions, d, [2 * width])
        wb, rb = _split(b, bias, 0, [width, width])
        x = b.op("Add", x, wb)
    steps = _split(b, x, 0, [sizes.rows] * sizes.steps)
    p = ""
    if kind == "LSTM" and node.input(7):
        p = _pick(b, node.input(7), sizes.directions, d, [3 * sizes.hidden])
    acts = activations(node, kind, sizes.directions)
    if isinstance(acts, str):
        raise Refusal(acts)
    order = steps[::-1] if reverse else steps
    return _Direction(
        *(order, own[1], rb, p, acts[d], b.like(1.0, x0)),
        bounds=_ends(b, x0, node.attr(CELL_CLIP, 0.0)),
        clip=_ends(b, x0, node.attr("clip", 0.0)),
        coupled=bool(node.attr("input_forget", 0)),
    )


def _ends(b: Builder, x: str, magnitude: float) -> tuple[str, ...]:
    """Least and largest value, of the type of `x`; () where the magnitude is 0."""
    return tuple(b.like(end, x) for end in (-magnitude, magnitude)) if magnitude > 0 else ()


def _initial(node: Node, b: Builder, sizes: _Sizes, d: int, position: int) -> str:
    """The state before the first step, [B, H]."""
    shape = [sizes.rows, sizes.hidden]
    if not node.input(position):
        return b.like(np.zeros(shape), node.input(0))
    value = node.input(position)
    if sizes.batch_first:
        value = b.op("Transpose", value, perm=[1, 0, 2])
    return _pick(b, value, sizes.directions, d, shape)


def _stack_final(b: Builder, sizes: _Sizes, values: Sequence[str]) -> str:
    """[D, B, H], or [B, D, H] where rows come first."""
    full = [_reshape(b, value, [1, sizes.rows, sizes.hidden]) for value in values]
    stacked = full[0] if len(full) == 1 else b.op("Concat", *full, axis=0)
    return b.op("Transpose", stacked, perm=[1, 0, 2]) if sizes.batch_first else stacked


def _stack_history(b: Builder, sizes: _Sizes, histories: Sequence[Sequence[str]]) -> str:
    """[T, D, B, H], or [B, T, D, H] where rows come first."""
    shape = [1, 1, sizes.rows, sizes.hidden]
    flat = [_reshape(b, value, shape) for step in zip(*histories, strict=True) for value in step]
    stacked = flat[0] if len(flat) == 1 else b.op("Concat", *flat, axis=0)
    full = [sizes.steps, sizes.directions, sizes.rows, sizes.hidden]
    result = _reshape(b, stacked, full)
    return b.op("Transpose", result, perm=[2, 0, 1, 3]) if sizes.batch_first else result


def _recurrent(b: Builder, d: _Direction, h: str) -> str:
    """H @ R^T + Rb for all gates at once."""
    product = d.r(b, h)
    return b.op("Add", product, d.rb) if d.rb else product


def _rnn_step(
    b: Builder, d: _Direction, x: str, state: tuple[str, ...], hidden: int
) -> tuple[str, ...]:
    return (d.act(b, 0, b.op("Add", x, _recurrent(b, d, state[0]))),)


def _gru_step(
    b: Builder, d: _Direction, x: str, state: tuple[str, ...], hidden: int
) -> tuple[str, ...]:
    """The reset gate scales the state before it meets the recurrent weights."""
    (h,) = state
    xz, xr, xh = _split(b, x, 1, [hidden] * 3)
    rz, rr, rh = _split(b, d.r.weight, 1, [hidden] * 3)
    biases = _split(b, d.rb, 0, [hidden] * 3) if d.rb else ["", "", ""]

    def gate(act: int, xg: str, value: str, weights: str, bias: str) -> str:
        total = b.op("Add", xg, b.op("MatMul", value, weights))
        return d.act(b, act, b.op("Add", total, bias) if bias else total)

    z = gate(0, xz, h, rz, biases[0])
    r = gate(0, xr, h, rr, biases[1])
    new = gate(1, xh, b.op("Mul", r, h), rh, biases[2])
    return (_blend(b, d, z, new, h),)


def _gru_step_reset_after(
    b: Builder, d: _Direction, x: str, state: tuple[str, ...], hidden: int
) -> tuple[str, ...]:
    """The reset gate scales the product of state and recurrent weights."""
    (h,) = state
    xz, xr, xh = _split(b, x, 1, [hidden] * 3)
    hz, hr, hh = _split(b, _recurrent(b, d, h), 1, [hidden] * 3)
    z = d.act(b, 0, b.op("Add", xz, hz))
    r = d.act(b, 0, b.op("Add", xr, hr))
    new = d.act(b, 1, b.op("Add", xh, b.op("Mul", r, hh)))
    return (_blend(b, d, z, new, h),)


def _blend(b: Builder, d: _Direction, z: str, new: str, h: str) -> str:
    """(1 - z) * new + z * h."""
    return b.op("Add", b.op("Mul", b.op("Sub", d.one, z), new), b.op("Mul", z, h))


def _lstm_step(
    b: Builder, d: _Direction, x: str, state: tuple[str, ...], hidden: int
) -> tuple[str, ...]:
    """Gates in the order input, output, forget, cell; peepholes input, output, forget."""
    h, c = state
    gates = _split(b, b.op("Add", x, _recurrent(b, d, h)), 1, [hidden] * 4)
    peepholes = _split(b, d.p, 0, [hidden] * 3) if d.p else ["", "", ""]

    def peek(gate: str, weights: str, cell: str) -> str:
        return b.op("Add", gate, b.op("Mul", weights, cell)) if weights else gate

    i = d.act(b, 0, peek(gates[0], peepholes[0], c))
    if d.coupled:
        f = b.op("Sub", d.one, i)
    else:
        f = d.act(b, 0, peek(gates[2], peepholes[2], c))
    new = b.op("Add", b.op("Mul", f, c), b.op("Mul", i, d.act(b, 1, gates[3])))
    if d.bounds:
        new = b.op("Clip", new, *d.bounds)
    o = d.act(b, 0, peek(gates[1], peepholes[1], new))
    return b.op("Mul", o, d.acts[2](b, new, d.one)), new
