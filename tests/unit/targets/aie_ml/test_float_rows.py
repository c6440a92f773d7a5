"""Layers of rows in bfloat16: their schedules, their programs' results."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import Infeasible
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.cut_plan import cut_plans
from match_aie.targets.aie_ml.graph.row_stage import row_stages
from match_aie.targets.aie_ml.kernels.floats import (
    FloatFunctionCall,
    FloatFunctionSpec,
    FloatNormCall,
    FloatNormSpec,
    FloatPairCall,
    FloatPairSpec,
    FloatSoftmaxCall,
    FloatSoftmaxSpec,
)
from match_aie.targets.aie_ml.schedule.rows import row_schedule
from match_aie.targets.aie_ml.vendor.job import JobWay
from match_aie.targets.versal.module import AieArray
from match_aie.workload import (
    Converted,
    function,
    layer_norm,
    real_pair,
    real_softmax,
    reference,
    rms_norm,
)
from match_aie.workload.functions_bfloat16 import FUNCTIONS
from tests.aie_layers import random_inputs
from tests.aie_programs import VEK280, case, equal
from tests.kernel_counts import counts_of
from tests.streamed_checks import overlap_rightly

ARCH = device("vek280").architecture
ROWS = [
    FloatSoftmaxCall("f", "f.h", FloatSoftmaxSpec(), 7, 100),
    FloatNormCall("f", "f.h", FloatNormSpec(), 7, 100, 1e-5),
    FloatNormCall("f", "f.h", FloatNormSpec(rms=True), 7, 100, 1e-5),
]
ELEMENTS = [
    *(FloatPairCall("f", "f.h", FloatPairSpec(name), None, 17) for name in ("add", "mul")),
    *(
        FloatFunctionCall("f", "f.h", FloatFunctionSpec.of(name), 17, name)
        for name in ("exp", "tanh", "gelu", "reciprocal", "rsqrt")
    ),
]


def named(call) -> str:
    return call.spec.family


@pytest.mark.parametrize("call", [*ROWS, *ELEMENTS], ids=named)
def test_turns_of_a_loop_overlap_without_taking_each_others_place(call) -> None:
    for _, loop in row_schedule(call, ARCH).loops:
        overlap_rightly(loop, writes_once=True)


def counted(call):
    if call in ROWS:
        return counts_of(call.spec, call.rows * call.width // 16, call.rows)
    return counts_of(call.spec, call.rows)


@pytest.mark.parametrize("call", [*ROWS, *ELEMENTS], ids=named)
def test_what_is_scheduled_is_what_the_kernel_does(call) -> None:
    schedule, counts = row_schedule(call, ARCH), counted(call)
    kinds = ("load", "store", "srs", "multiply")
    assert {name: schedule.counts[name] for name in kinds} == {
        name: getattr(counts, name) for name in kinds
    }
    assert schedule.cycles > schedule.body > counts.load / 2
    assert schedule.program_bytes < ARCH.core.program_memory_bytes


def random_layer(kind, seed):
    """A layer of random rows in bfloat16."""
    rng = np.random.default_rng(seed)
    rows, columns = int(rng.integers(1, 30)), int(rng.integers(1, 150))
    made = {
        "softmax": lambda: real_softmax(rows=rows, columns=columns),
        "layer_norm": lambda: layer_norm(rows=rows, columns=columns, epsilon=1e-5),
        "rms_norm": lambda: rms_norm(rows=rows, columns=columns, epsilon=1e-5),
        "add": lambda: real_pair("add", elements=rows * columns),
        "mul": lambda: real_pair("mul", elements=rows * columns),
        "function": lambda: function(FUNCTIONS[seed % len(FUNCTIONS)], elements=rows * columns),
    }[kind]()
    constants = {o.name: rng.normal(1, 0.5, o.shape).astype(np.float32) for o in made.constants}
    found = AieArray("vek280", 2, floats="bf16").convert(made, constants)
    assert isinstance(found, Converted), found
    return found.workload, found.constants


def check(kind, seed) -> int:
    """Execute a random layer on up to two columns; tiles that it took."""
    workload, constants = random_layer(kind, seed)
    plans = cut_plans(workload, "vek280", 1 + seed % 2)
    assert not isinstance(plans, Infeasible), plans
    graph = plans[-1].graph("layer", workload, constants)
    found = case(graph, workload, constants, np.random.default_rng(seed))
    assert violations(found.program, VEK280) == ()
    equal(found)
    return len(graph.kernels)


KINDS = ("softmax", "layer_norm", "rms_norm", "add", "mul", "function")


@pytest.mark.parametrize("kind", KINDS)
def test_random_rows_equal_their_reference(kind) -> None:
    assert max(check(kind, seed) for seed in range(4)) > 1


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
def test_many_random_rows_equal_their_reference(kind) -> None:
    for seed in range(1000, 1300):
        check(kind, seed)


def test_rows_stay_float32_unless_asked() -> None:
    patterns = {pattern.name for pattern in AieArray("vek280", 2).patterns()}
    asked = {pattern.name for pattern in AieArray("vek280", 2, floats="bf16").patterns()}
    assert {"bf16_softmax", "bf16_rms_norm", "bf16_exp"} <= asked - patterns


def test_other_cores_have_no_rows_of_floats() -> None:
    array = AieArray("vek385", 4, floats="bf16")
    for made in (function("tanh", elements=64), real_pair("add", elements=64)):
        assert "AIE-MLv2" in array.convert(made, {})


def test_factors_lie_behind_rows_as_numbers_of_bfloat16() -> None:
    workload, constants = random_layer("rms_norm", 3)
    plan = cut_plans(workload, "vek280", 1)[0]
    (name, values), *more = plan.graph("layer", workload, constants).kernels[0].values
    assert (name, values.dtype, more) == ("weight", np.uint16, [])
    assert replace(workload).rounded


@pytest.mark.parametrize("memory", [True, False])
def test_golden_rows_are_filled_up_with_what_is_never_the_largest(memory) -> None:
    """Results are not: there any number will do."""
    made = AieArray("vek280", 2, floats="bf16").convert(real_softmax(rows=3, columns=38), {})
    assert isinstance(made, Converted)
    graph = cut_plans(made.workload, "vek280", 1)[0].graph("layer", made.workload, made.constants)
    [came] = [end for end in graph.inputs if end.part is not None]
    [left] = [end for end in graph.outputs if end.part is not None]
    tensor = np.ones((3, 38), np.float32)

    def rows(outside, operand):
        way = JobWay(outside, "port", 0, operand, 1, memory)
        return np.array(way.text(lambda layer: [{operand: tensor}]).split()).reshape(3, -1)

    one, least = ("16256", "65408") if memory else ("1", "-inf")
    assert set(rows(came, "x")[:, :38].flat) == set(rows(left, "y")[:, :38].flat) == {one}
    assert set(rows(came, "x")[:, 38:].flat) == {least}
    assert set(rows(left, "y")[:, 38:].flat) == {"x"}


def converted(made):
    """In bfloat16, with random numbers."""
    rng = np.random.default_rng(5)
    constants = {o.name: rng.normal(1, 0.5, o.shape).astype(np.float32) for o in made.constants}
    return AieArray("vek280", 2, floats="bf16").convert(made, constants)


STAGES = {
    "softmax": converted(real_softmax(rows=24, columns=64)),
    "layer_norm": converted(layer_norm(rows=24, columns=64, epsilon=1e-5)),
    "rms_norm": converted(rms_norm(rows=24, columns=64, epsilon=1e-5)),
    "add": converted(real_pair("add", elements=24 * 64)),
    "gelu": converted(function("gelu", elements=24 * 64)),
}


@pytest.mark.parametrize("kind", STAGES)
def test_rows_over_tiles_of_a_pipeline_mean_what_the_layer_means(kind) -> None:
    """Splits over tiles, rows that are filled up, several calls a run: executed twice, equal."""
    made, rng = STAGES[kind], np.random.default_rng(0)
    stages = row_stages(made.workload, "vek280", 64, (24, 28), 2)
    for stage in (stages[at] for at in rng.integers(0, len(stages), 3)):
        program = lay_out(stage.graph("layer", made.constants), VEK280, 3)
        assert not isinstance(program, Infeasible), program
        assert violations(program, VEK280) == ()
        assert len(program.cores) == stage.tiles
        runs = [random_inputs(made.workload, rng) for _ in range(2)]
        names = {way.outside.name: way.outside.blocks.operand for way in program.crossings}
        done = execute(
            program,
            VEK280,
            [{name: run[of] for name, of in names.items() if of != "y"} for run in runs],
        )
        for number, run in enumerate(runs):
            read = [run[operand.name] for operand in made.workload.inputs]
            wanted = reference(made.workload, read, made.constants)
            np.testing.assert_array_equal(done.tensor(wanted, run=number), wanted)
