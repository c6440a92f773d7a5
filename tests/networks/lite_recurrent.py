"""Recurrent operators in TFLite files, and what they compute (numpy, float64).

Formulas: LiteRT's reference kernels. Sizes: T steps, B rows, I inputs, H hidden units.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import tflite

from match_aie.frontend.tflite_site import OPTIONS
from match_aie.workload.codes import coded
from tests.networks.tflite_file import Step, Stored, flatbuffer

ACTIVATIONS: dict[int, Callable[[np.ndarray], np.ndarray]] = {
    0: lambda x: x,
    1: lambda x: np.maximum(x, 0),
    2: lambda x: np.clip(x, -1, 1),
    3: lambda x: np.clip(x, 0, 6),
    4: np.tanh,
}
TANH = int(tflite.ActivationFunctionType.TANH)


@dataclass(frozen=True)
class Layer:
    """One operator.

    Attributes:
        kind: its name.
        steps: T.
        rows: B.
        inputs: I.
        hidden: H; the units of an SVDF.
        projected: size of the output of an LSTM that projects, 0 for none.
        rank: of an SVDF.
        memory: steps of an SVDF.
        peepholes: whether gates of an LSTM see the cell.
        coupled: whether the input gate is one minus the forget gate.
        biased: whether optional biases are there.
        time_major: whether steps come before rows.
        merged: whether two directions are one output.
        act: number of the activation.
        clips: of the cell and of the projection.
        codes: how activations of an LSTM of int8 weights are stored; "" for one of floats.
    """

    kind: str
    steps: int = 4
    rows: int = 1
    inputs: int = 6
    hidden: int = 5
    projected: int = 0
    rank: int = 1
    memory: int = 3
    peepholes: bool = False
    coupled: bool = False
    biased: bool = True
    time_major: bool = False
    merged: bool = True
    act: int = TANH
    clips: tuple[float, float] = (0.0, 0.0)
    codes: str = ""

    @property
    def sequence(self) -> bool:
        """Whether it runs over steps."""
        return "SEQUENCE" in self.kind

    @property
    def directions(self) -> int:
        """1 or 2."""
        return 2 if self.kind.startswith("BIDIRECTIONAL") else 1

    @property
    def given(self) -> tuple[int, ...]:
        """Shape of the input."""
        if not self.sequence:
            return (self.rows, self.inputs)
        pair = (self.steps, self.rows) if self.time_major else (self.rows, self.steps)
        return (*pair, self.inputs)

    @property
    def width(self) -> int:
        """Size of an output."""
        return self.projected or self.hidden


@dataclass
class Built:
    """A layer's file, and its weights by operand position."""

    layer: Layer
    content: dict[int, np.ndarray] = field(default_factory=dict)
    states: dict[int, tuple[int, ...]] = field(default_factory=dict)
    scales: dict[int, np.float32] = field(default_factory=dict)

    @property
    def outputs(self) -> tuple[str, ...]:
        """Names."""
        apart = self.layer.directions == 2 and not self.layer.merged
        return ("y", "z") if apart else ("y",)

    def file(self) -> bytes:
        """The flatbuffer."""
        layer = self.layer
        wide = layer.width * (2 if layer.directions == 2 and layer.merged else 1)
        tensors = [Stored("x", layer.given, "float32")]
        tensors += [Stored(n, (*layer.given[:-1], wide), "float32") for n in self.outputs]
        names = {0: "x"}
        for at, values in self.content.items():
            names[at] = f"w{at}"
            scale = self.scales.get(at)
            if scale is None:
                tensors.append(Stored(names[at], values.shape, "float32", content=values))
                continue
            whole = np.rint(values / scale).astype(np.int8)
            of = np.array([scale], np.float32)
            tensors.append(Stored(names[at], values.shape, "int8", of, content=whole))
        for at, shape in self.states.items():
            names[at] = f"s{at}"
            tensors.append(Stored(names[at], shape, "float32", variable=True))
        count = max(names) + 1
        if layer.kind.endswith("LSTM"):
            count = 48 if layer.directions == 2 else 24
        elif layer.directions == 2:
            count = 12
        operands = tuple(names.get(at, "") for at in range(count))
        fields: dict[str, object] = {"FusedActivationFunction": layer.act}
        if layer.sequence:
            fields["TimeMajor"] = layer.time_major
        if layer.directions == 2:
            fields["MergeOutputs"] = layer.merged
        if layer.kind.endswith("LSTM"):
            fields |= {"CellClip": layer.clips[0], "ProjClip": layer.clips[1]}
            fields["AsymmetricQuantizeInputs"] = layer.codes == "asymmetric"
        if layer.kind == "SVDF":
            fields["Rank"] = layer.rank
        step = Step(layer.kind, operands, "y", OPTIONS[layer.kind], fields, self.outputs[1:])
        return flatbuffer(tensors, [step], "x", self.outputs)

    def run(self, given: np.ndarray) -> list[dict[str, np.ndarray]]:
        """Outputs of calls one after the other: `given` [calls, *input] (numpy)."""
        states = {at: np.zeros(shape) for at, shape in self.states.items()}
        return [self._call(x.astype(np.float64), states) for x in given]

    def _call(self, x: np.ndarray, states: dict[int, np.ndarray]) -> dict[str, np.ndarray]:
        layer = self.layer
        if layer.kind == "SVDF":
            return {"y": self._svdf(x, states)}
        if not layer.sequence:
            x = x[None]
        elif not layer.time_major:
            x = x.transpose(1, 0, 2)
        found = []
        for direction in range(layer.directions):
            lstm = layer.kind.endswith("LSTM")
            step = self._lstm if lstm else self._rnn
            rows = [step(row, states, direction) for row in (x[::-1] if direction else x)]
            y = np.array(rows[::-1] if direction else rows)
            y = y if layer.time_major else y.transpose(1, 0, 2)
            found.append(y if layer.sequence else y[:, 0])
        if len(self.outputs) == 1:
            found = [np.concatenate(found, axis=-1)]
        return dict(zip(self.outputs, found, strict=True))

    def _svdf(self, x: np.ndarray, states: dict[int, np.ndarray]) -> np.ndarray:
        layer, filters = self.layer, self.layer.hidden * self.layer.rank
        held = states[4].reshape(layer.rows, filters, layer.memory)
        fresh = (x @ self.content[1].T)[:, :, None]
        held = np.concatenate([held[:, :, 1:], fresh], axis=2)
        states[4] = held.reshape(layer.rows, -1)
        timed = (held * self.content[2]).sum(-1).reshape(layer.rows, layer.hidden, layer.rank)
        return ACTIVATIONS[layer.act](timed.sum(-1) + self.content.get(3, 0))

    def _rnn(self, x: np.ndarray, states: dict[int, np.ndarray], direction: int) -> np.ndarray:
        base = 4 * direction
        w, r, b = (self.content.get(base + at, 0) for at in (1, 2, 3))
        h = ACTIVATIONS[self.layer.act](
            x @ np.transpose(w) + states[base + 4] @ np.transpose(r) + b
        )
        states[base + 4] = h
        return h

    def _lstm(self, x: np.ndarray, states: dict[int, np.ndarray], direction: int) -> np.ndarray:
        layer, base = self.layer, 17 * direction
        kept = (35 + 2 * direction, 36 + 2 * direction) if layer.directions == 2 else (18, 19)
        (h, c), act = (states[at] for at in kept), ACTIVATIONS[layer.act]
        content = {at - base: values for at, values in self.content.items()}

        seen, own = x, h
        if layer.codes:
            seen, own = (coded(np.float32(values), layer.codes) for values in (x, h))

        def summed(gate: int) -> np.ndarray:
            terms = seen @ content[1 + gate].T + own @ content[5 + gate].T
            return terms + content.get(12 + gate, 0)

        def gate(number: int, look: int, cell: np.ndarray) -> np.ndarray:
            return 1 / (1 + np.exp(-(summed(number) + content.get(look, 0) * cell)))

        forget = gate(1, 10, c)
        enter = 1 - forget if layer.coupled else gate(0, 9, c)
        cell = forget * c + enter * act(summed(2))
        if layer.clips[0]:
            cell = np.clip(cell, -layer.clips[0], layer.clips[0])
        out = gate(3, 11, cell) * act(cell)
        if layer.projected:
            out = out @ content[16].T + content.get(17, 0)
            if layer.clips[1]:
                out = np.clip(out, -layer.clips[1], layer.clips[1])
        states[kept[0]], states[kept[1]] = out, cell
        return out


def built(layer: Layer, seed: int = 0) -> Built:
    """`layer` with random weights."""
    rng, made = np.random.default_rng(seed), Built(layer)

    def weight(at: int, *shape: int) -> None:
        made.content[at] = (rng.standard_normal(shape) * 1.5 * shape[-1] ** -0.5).astype(np.float32)

    if layer.kind == "SVDF":
        filters = layer.hidden * layer.rank
        weight(1, filters, layer.inputs)
        weight(2, filters, layer.memory)
        if layer.biased:
            weight(3, layer.hidden)
        made.states[4] = (layer.rows, filters * layer.memory)
        return made
    for direction in range(layer.directions):
        if layer.kind.endswith("LSTM"):
            _lstm_weights(layer, 17 * direction, weight)
            for at in range(17 * direction + 1, 17 * direction + 9) if layer.codes else ():
                made.scales[at] = np.float32(np.abs(made.content[at]).max() / 127)
                made.content[at] = np.rint(made.content[at] / made.scales[at]) * made.scales[at]
            kept = (35 + 2 * direction, 36 + 2 * direction) if layer.directions == 2 else (18, 19)
            made.states[kept[0]] = (layer.rows, layer.width)
            made.states[kept[1]] = (layer.rows, layer.hidden)
            continue
        base = 4 * direction
        weight(base + 1, layer.hidden, layer.inputs)
        weight(base + 2, layer.hidden, layer.hidden)
        weight(base + 3, layer.hidden)
        made.states[base + 4] = (layer.rows, layer.hidden)
    return made


def _lstm_weights(layer: Layer, base: int, weight: Callable[..., None]) -> None:
    for gate in range(1 if layer.coupled else 0, 4):
        weight(base + 1 + gate, layer.hidden, layer.inputs)
        weight(base + 5 + gate, layer.hidden, layer.width)
        weight(base + 12 + gate, layer.hidden)
    if layer.peepholes:
        for look in range(1 if layer.coupled else 0, 3):
            weight(base + 9 + look, layer.hidden)
    if layer.projected:
        weight(base + 16, layer.projected, layer.hidden)
        if layer.biased:
            weight(base + 17, layer.projected)


def looped_weights(inputs: int, hidden: int) -> tuple[np.ndarray, ...]:
    """Of the input, the bias, of the state: of `looped`."""
    rng = np.random.default_rng(11)
    w, b = rng.standard_normal((hidden, inputs)) / 2, rng.standard_normal(hidden)
    return w, b, rng.standard_normal((hidden, hidden)) / 3


def looped(steps: int = 6, inputs: int = 4, hidden: int = 8, run_time: bool = False) -> bytes:
    """A recurrent layer as a `WHILE` over its steps, as converters write it.

    What goes from step to step is a counter, how many there are, the state, all states of which a
    step replaces one, the input and weights.

    Args:
        steps: how often it runs.
        inputs: of a step.
        hidden: elements of the state.
        run_time: whether the number of steps is an input.
    """
    w, b, turned = looped_weights(inputs, hidden)

    def constant(name: str, values: np.ndarray | int) -> Stored:
        array = np.asarray(values)
        kind = np.int32 if array.dtype.kind == "i" else np.float32
        return Stored(name, array.shape, np.dtype(kind).name, content=array.astype(kind))

    def floats(**shapes: tuple[int, ...]) -> list[Stored]:
        return [Stored(name, shape, "float32") for name, shape in shapes.items()]

    sizes = {"x": (steps, inputs), "h": (1, hidden), "all": (steps, hidden), "r": (hidden, hidden)}
    weights = {"w": w, "b": b}
    passed = ("i", "n", "h", "all", "x", "r")
    counters = [Stored("i", (), "int32"), Stored("n", (), "int32")]
    plain: dict[str, object] = {"FusedActivationFunction": int(tflite.ActivationFunctionType.NONE)}
    dense, joined = "FullyConnectedOptions", "ConcatenationOptions"
    pair: dict[str, object] = {"ValuesCount": 2, "Axis": 0}
    open_ = [
        Stored(name, (1, hidden), "float32", signature=(-1, hidden)) for name in ("before", "after")
    ]
    given = [*counters, *floats(**{name: sizes[name] for name in passed[2:]})]
    holds = ([*given, Stored("more", (), "bool")], [Step("LESS", ("i", "n"), "more")])
    body = (
        [
            *given,
            *(constant(name, values) for name, values in weights.items()),
            *(constant("one", 1), constant("row", np.array([1, inputs]))),
            *(constant("zero", 0), constant("wide", hidden)),
            *(constant("origin", np.array([0, 0])), constant("rest", np.array([-1, -1]))),
            *(Stored("next", (), "int32"), Stored("lead", (2,), "int32")),
            *(Stored("place", (2,), "int32"), *open_),
            *floats(at=(inputs,), line=(1, inputs), seen=(1, hidden), old=(1, hidden)),
            *floats(sum=(1, hidden), new=(1, hidden), held=sizes["all"]),
        ],
        [
            Step("ADD", ("i", "one"), "next", "AddOptions", plain),
            Step("GATHER", ("x", "i"), "at", "GatherOptions", {"Axis": 0}),
            Step("RESHAPE", ("at", "row"), "line"),
            Step("FULLY_CONNECTED", ("line", "w", "b"), "seen", dense, plain),
            Step("FULLY_CONNECTED", ("h", "r", ""), "old", dense, plain),
            Step("ADD", ("seen", "old"), "sum", "AddOptions", plain),
            Step("TANH", ("sum",), "new"),
            Step("PACK", ("i", "wide"), "lead", "PackOptions", pair),
            Step("PACK", ("next", "zero"), "place", "PackOptions", pair),
            Step("SLICE", ("all", "origin", "lead"), "before"),
            Step("SLICE", ("all", "place", "rest"), "after"),
            Step("CONCATENATION", ("before", "new", "after"), "held", joined, {"Axis": 0}),
        ],
    )
    first = [constant("i", 0), constant("h", np.zeros(sizes["h"]))]
    count = Stored("n", (), "int32") if run_time else constant("n", steps)
    main = [*floats(x=sizes["x"]), *first, count, constant("all", np.zeros(sizes["all"]))]
    main += [constant("r", turned), *(Stored(f"{c.name} end", (), "int32") for c in counters)]
    main += floats(**{f"{name} end": sizes[name] for name in passed[2:]})
    ends = [f"{name} end" for name in passed]
    subgraphs = {"CondSubgraphIndex": 1, "BodySubgraphIndex": 2}
    loop = Step("WHILE", passed, ends[0], "WhileOptions", dict(subgraphs), tuple(ends[1:]))
    others = [
        (*holds, list(passed), ["more"]),
        (*body, list(passed), ["next", "n", "new", "held", "x", "r"]),
    ]
    entry = ("x", "n") if run_time else "x"
    return flatbuffer(main, [loop], entry, ("all end", "h end"), others)
