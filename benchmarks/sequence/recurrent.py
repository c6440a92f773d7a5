"""Steps of GRU and LSTM: hidden and input sizes, assumed times at half and double."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper
from rows import figure

import match_aie as match
from match_aie.errors import TargetError
from match_aie.hardware import ChosenLayer, Loop
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array import ArrayProgram, Assumed
from match_aie.targets.aie_ml.array.program import Work
from match_aie.targets.aie_ml.array.recurrent_works import recurrent_works
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.cut_plan import cut_plan
from match_aie.targets.aie_ml.graph.plan import Call
from match_aie.targets.aie_ml.graph.recurrent_splits import along_cascade, splits, with_logic
from match_aie.targets.aie_ml.kernels.recurrent import RecurrentCall
from match_aie.targets.aie_ml.schedule.recurrent import GateTimes
from match_aie.targets.aie_ml.simulate import simulate_program
from match_aie.targets.versal.choices import Floats
from match_aie.targets.versal.executing import stretches
from match_aie.workload import reference
from tests.integer_cells import recurrent_target

Row = dict[str, object]

VEK280 = device("vek280")

Operator = Literal["GRU", "LSTM"]

#: Steps of a run.
STEPS = 64

#: Hidden units of layers with products of 8 bits, where these are faster than others.
INTEGER_SIZES: dict[Operator, tuple[int, ...]] = {
    "GRU": (16, 32, 64, 256),
    "LSTM": (32, 64),
}

#: How a layer may be spread: by the splits of `graph.recurrent`.
Way = Literal["one_tile", "apart", "tiles", "neighbours", "gates", "rows", "cascade", "hybrid"]

#: Hidden units that a way is measured for.
WAY_SIZES: dict[Way, tuple[int, ...]] = {
    "one_tile": (4, 8, 16, 32, 48, 64),
    "apart": (32, 48, 64),
    "tiles": (32, 48, 64, 96, 128),
    "neighbours": (32, 64),
    "gates": (48, 64, 96, 128),
    "rows": (32, 48, 64, 96, 128),
    "cascade": (16, 32, 48, 64, 96, 128),
    "hybrid": (16, 32, 48, 64, 96, 128),
}

#: Likewise of an LSTM: the published ways.
LSTM_WAY_SIZES: dict[Way, tuple[int, ...]] = {
    "rows": (32, 48, 64, 96, 128),
    "cascade": (16, 32, 48, 64, 96, 128),
    "hybrid": (16, 32, 48, 64, 96, 128),
}

#: Likewise with products of 8 bits, of which a tile has 32 units at least; for 128 units those of
#: bfloat16 are faster.
INTEGER_WAY_SIZES: dict[Operator, dict[Way, tuple[int, ...]]] = {
    "GRU": {
        "one_tile": (16, 32, 64),
        "apart": (16, 32, 64),
        "tiles": (64,),
        "neighbours": (64,),
        "rows": (64,),
        "cascade": (64,),
        "hybrid": (16, 32, 64),
    },
    "LSTM": {"rows": (64,), "cascade": (64,), "hybrid": (32, 64)},
}

#: Ways that are measured by the number of inputs, too.
INPUT_WAYS: tuple[Way, ...] = ("one_tile", "apart", "rows")

#: Step of quantised inputs: normal numbers go up to 4 of it times 127.
INPUT_STEP = 1 / 32


@dataclass(frozen=True)
class Case:
    """A layer.

    Attributes:
        operator: ONNX's.
        hidden: units.
        inputs: of a step.
        after: whether a GRU's reset gate is applied behind the state's product.
        steps: of a run.
        integers: whether inputs and weights are quantised to 8 bits, and products are of these.
        way: how it is spread (`WAYS`), on as many tiles as are simulated fastest; as the search
            takes it where None.
    """

    operator: Operator
    hidden: int
    inputs: int
    after: bool = True
    steps: int = STEPS
    integers: bool = False
    way: Way | None = None

    @property
    def gates(self) -> int:
        """Of a cell."""
        return 3 if self.operator == "GRU" else 4

    @property
    def macs(self) -> int:
        """Multiply-accumulates of a run."""
        return self.steps * self.gates * self.hidden * (self.hidden + self.inputs)


CASES: dict[str, Case] = {
    "gru_h32_bf16": Case("GRU", 32, 32),
    "lstm_h32_bf16": Case("LSTM", 32, 32),
    "gru_before_h32_bf16": Case("GRU", 32, 32, after=False),
    "gru_h32_bf16_one_step": Case("GRU", 32, 32, steps=1),
    **{f"gru_h{size}_bf16": Case("GRU", size, 32) for size in (4, 8, 16, 48, 64, 96, 128, 256)},
    **{f"lstm_h{size}_bf16": Case("LSTM", size, 32) for size in (4, 8, 16, 48, 64, 96, 128)},
    **{f"gru_h32_i{size}_bf16": Case("GRU", 32, size) for size in (4, 8, 16, 64, 128, 256)},
    **{
        f"{operator.lower()}_h{size}_int8": Case(operator, size, 32, integers=True)
        for operator, sizes in INTEGER_SIZES.items()
        for size in sizes
    },
    **{
        f"gru_{way}_h{size}": Case("GRU", size, 32, way=way)
        for way, sizes in WAY_SIZES.items()
        for size in sizes
    },
    **{
        f"gru_{way}_h32_i{size}": Case("GRU", 32, size, way=way)
        for way in INPUT_WAYS
        for size in (4, 16, 64, 128)
    },
    **{
        f"lstm_{way}_h{size}": Case("LSTM", size, 32, way=way)
        for way, sizes in LSTM_WAY_SIZES.items()
        for size in sizes
    },
    **{f"gru_apart_h32_i{size}": Case("GRU", 32, size, way="apart") for size in (192, 256)},
    **{
        f"{operator.lower()}_{way}_h{size}_int8": Case(operator, size, 32, integers=True, way=way)
        for operator, known in INTEGER_WAY_SIZES.items()
        for way, sizes in known.items()
        for size in sizes
    },
    "gru_before_h32_int8": Case("GRU", 32, 32, after=False, integers=True),
}


def model(case: Case) -> onnx.ModelProto:
    """The layer alone, with weights as frameworks initialise them."""
    rng, bound = np.random.default_rng(0), case.hidden**-0.5
    rows = case.gates * case.hidden
    shapes = {"w": (1, rows, case.inputs), "r": (1, rows, case.hidden), "b": (1, 2 * rows)}
    constants = [
        numpy_helper.from_array(rng.uniform(-bound, bound, shape).astype(np.float32), name)
        for name, shape in shapes.items()
    ]
    options = {"hidden_size": case.hidden}
    if case.operator == "GRU":
        options["linear_before_reset"] = int(case.after)
    inputs, nodes, kind = ["x", *shapes], [], TensorProto.FLOAT
    if case.integers:
        nodes, constants = _quantised(constants)
        inputs, kind = ["x_real", "w_real", "r_real", "b"], TensorProto.INT8
    nodes.append(helper.make_node(case.operator, inputs, ["y"], **options))
    x = helper.make_tensor_value_info("x", kind, (case.steps, 1, case.inputs))
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, (case.steps, 1, 1, case.hidden))
    graph = helper.make_graph(nodes, "net", [x], [y], constants)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)


def _quantised(
    constants: list[onnx.TensorProto],
) -> tuple[list[onnx.NodeProto], list[onnx.TensorProto]]:
    """Inputs and weights as integers made real: weights with a scale for each row."""
    weights, recurrent, bias = (numpy_helper.to_array(each) for each in constants)
    known = [numpy_helper.from_array(bias, "b")]
    pairs = {"x": (np.float32(INPUT_STEP), np.int8(0))}
    for name, values in (("w", weights), ("r", recurrent)):
        scales = np.abs(values).max(axis=2)[0] / np.float32(127)
        codes = np.rint(values / scales[:, None]).astype(np.int8)
        known.append(numpy_helper.from_array(codes, name))
        pairs[name] = scales.astype(np.float32), np.zeros(len(scales), np.int8)
    nodes = []
    for name, (scale, point) in pairs.items():
        parts = [name, f"{name}_scale", f"{name}_point"]
        known += [
            numpy_helper.from_array(np.asarray(v), n)
            for v, n in zip((scale, point), parts[1:], strict=True)
        ]
        axis = {} if name == "x" else {"axis": 1}
        nodes.append(helper.make_node("DequantizeLinear", parts, [f"{name}_real"], **axis))
    return nodes, known


def executed(layer: ChosenLayer, array: Device = VEK280) -> ArrayProgram:
    """The layer's program, which gave the reference's results in two runs.

    Raises:
        AssertionError: a result is not the reference's.
    """
    runs = []
    for seed in (1, 2):
        (stretch,) = stretches([layer], array.name, np.random.default_rng(seed))
        runs.append(stretch)
    program = runs[0].program
    done = execute(program, array, [run.tensors for run in runs])
    for number, run in enumerate(runs):
        wanted = run.results[0][1]
        np.testing.assert_array_equal(done.tensor(wanted, run=number), wanted)
        assert np.unique(wanted).size > wanted.size // 16, "results too much alike"
    return program


def error(layer: ChosenLayer) -> float:
    """Largest distance from the layer in float64, of all steps from the first state on."""
    operand = layer.workload.inputs[0]
    x = np.random.default_rng(3).standard_normal(operand.shape)
    inputs = [x.astype(np.float32)]
    if operand.scale is not None:
        inputs = [np.clip(np.rint(x / operand.scale), -128, 127).astype(np.int8)]
    real = layer.workload.real
    assert real is not None
    plain = replace(layer.workload, real=replace(real, precision="float32"))
    exact = reference(plain, inputs, layer.constants).astype(np.float64)
    return float(np.abs(reference(layer.workload, inputs, layer.constants) - exact).max())


def varied(program: ArrayProgram, factor: float) -> ArrayProgram:
    """The program with assumed cycles of its kernels, and of logic, multiplied."""
    times = GateTimes().scaled(factor)
    logics = tuple(replace(one, times=one.times.scaled(factor)) for one in program.logics)
    works = {core.function: _works(core.function, times) for core in program.cores}
    cores = tuple(replace(core, work=works[core.function]) for core in program.cores)
    return replace(program, cores=cores, logics=logics)


def _works(call: Call | None, times: GateTimes) -> tuple[Work, ...]:
    """What a core does in a run."""
    assert isinstance(call, RecurrentCall)
    return recurrent_works(call, VEK280.architecture, times)


def way_of(spatial: Sequence[Loop]) -> Way:
    """Which way such loops are of."""
    if len(spatial) < 3:
        return "tiles" if len(spatial) == 2 else "one_tile"
    if with_logic(spatial):
        return "hybrid"
    if spatial[0].size == 1:
        return "rows"
    if spatial[1].size > 1:
        return "neighbours" if spatial[1].size == 2 else "gates"
    return "cascade" if along_cascade(spatial) else "apart"


def _spread(layer: ChosenLayer, case: Case) -> Iterator[ChosenLayer]:
    """The layer as the case asks for it, on every number of tiles that has room."""
    if case.way is None:
        yield layer
        return
    for nest in splits(VEK280):
        if way_of(nest.spatial) != case.way:
            continue
        try:
            cut_plan(layer.workload, VEK280.name, nest)
        except TargetError:
            continue
        yield replace(layer, mapping=nest)


def rows_of(name: str) -> list[Row]:
    """All figures of a case."""
    case = CASES[name]
    floats: Floats = "int8" if case.integers else "bf16"
    target = recurrent_target(floats, modules=("array",))
    net = match.compile(model(case), target, cache=False)
    mine = [layer for layer in net.program.schedule.chosen if layer.module == "array"]
    macs = sum(layer.workload.macs for layer in mine)
    share = figure(name, "macs_on_array_percent", 100 * macs / case.macs, "%", "modelled")
    if not mine:
        reasons = {str(option.reason) for option in net.assignment.considered if option.reason}
        return [share | {"note": "; ".join(sorted(reasons))}]
    (layer,) = mine
    programs = [executed(each) for each in _spread(layer, case)]

    def step_us(made: ArrayProgram, assumed: Assumed) -> float:
        result = simulate_program(made, VEK280, assumed=assumed)
        assert result.steady, "no steady pace"
        return result.interval / case.steps / VEK280.clock_ghz / 1000

    if not programs:
        return [share | {"note": "no such plan has room in a tile"}]
    program = min(programs, key=lambda made: step_us(made, Assumed()))
    what = f"{case.inputs} inputs, {case.steps} steps a run; a step of repeated runs"
    rows = [
        figure(name, "executed", 1, "", "measured", "two runs equal to the reference"),
        figure(name, "simulated_us", step_us(program, Assumed()), "us", "simulated", what),
        figure(name, "tiles", len(program.cores), "", "modelled"),
        share,
        figure(name, "max_error", error(layer), "", "measured", "against float64, all steps"),
    ]
    for which, factor in (("half", 0.5), ("double", 2.0)):
        made = varied(program, factor)
        value, note = step_us(made, Assumed().scaled(factor)), f"assumed times at {which}"
        rows.append(figure(name, f"simulated_us_{which}", value, "us", "simulated", note))
    return rows
