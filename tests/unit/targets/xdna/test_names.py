"""Calls of a core under the names that the text has for them: one function, counted once."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.codegen.fragment import render_template
from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.assumed import ENTRY_BYTES, RUNTIME_BYTES
from match_aie.targets.aie_ml.array.check import RULES
from match_aie.targets.aie_ml.array.layout import lay_out
from match_aie.targets.aie_ml.array.roles import kinds_of, program_bytes
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.timed_plan import TimedPlan, timed_best
from match_aie.targets.aie_ml.kernels.arithmetic import without_starts
from match_aie.targets.aie_ml.known import device
from match_aie.targets.aie_ml.schedule.call import BUNDLE_BYTES, FRAME_BUNDLES
from match_aie.targets.xdna.mlir import kernels_of, read, text
from match_aie.targets.xdna.mlir.objects import objects, piece
from match_aie.targets.xdna.mlir.turns import turned_names
from match_aie.targets.xdna.mlir.units import kernel_units
from match_aie.workload import Converted, reference
from tests.aie_timed import layer
from tests.overlays import program_of, small
from tests.xdna_programs import parts, product, running_parts

NPU1, FRAME = device("npu1"), FRAME_BUNDLES * BUNDLE_BYTES


def made(form="shift", sizes=(96, 1536, 64)):
    """A layer whose calls take turns, weights by stream; its numbers and program."""
    workload, constants = layer(np.random.default_rng(5), *sizes, form=form, zero=0)
    return workload, constants, laid_out(workload, constants)


def laid_out(workload, constants):
    asked = replace(dense_layer(workload), resident=False)
    plan = timed_best(asked, workload, "npu1", 2, 2)
    assert isinstance(plan, TimedPlan)
    assert plan.timed.mapping.reduction_steps > 2
    return lay_out(plan.graph("layer", workload, constants), NPU1)


def source_of(program, named=None):
    (one,) = objects(program, named)[:1]
    unit = next(u for u in kernel_units([one]) if u.path.endswith(f"{one.symbol}.cc"))
    return one, render_template(unit.template, **unit.values)


def test_turns_are_one_function_behind_a_name_for_each_kind_of_turn():
    *_, program = made()
    one, source = source_of(program)
    assert one.together
    # The function's own line, then a call from each kind; first ones that nobody starts are one.
    assert source.count(f"{one.symbol}_calls(") == 1 + 3
    assert source.count("noinline") == 1
    assert source.count("alias(") == len(one.entries) - 3


def test_program_memory_counts_the_names_and_one_entry():
    *_, program = made("channel")
    for core in program.cores:
        kernels = {id(work.schedule): work.schedule for work in core.work}.values()
        kinds = kinds_of(core.function)
        assert kinds == len(kernels) == 3
        whole = sum(each.program_bytes for each in kernels) - (len(kernels) - 1) * FRAME
        assert core.program_bytes == RUNTIME_BYTES + whole + kinds * ENTRY_BYTES
        alone = program_bytes(core.work, core.function, device("vek280"))
        assert core.program_bytes - alone == kinds * ENTRY_BYTES
    rule = next(rule for rule in RULES if rule.name == "program-memory")
    most = NPU1.architecture.core.program_memory_bytes
    assert not list(rule.check(program, NPU1))
    large = replace(program, cores=(replace(program.cores[0], program_bytes=most + 1),))
    assert [broken.demand for broken in rule.check(large, NPU1)] == [most + 1]


@pytest.mark.parametrize(
    "make", [lambda: parts(1)[0], lambda: running_parts(1)[0], lambda: product(3)[0]]
)
def test_no_call_is_a_piece_that_is_not_counted(make):
    for core in make().cores:
        pieces = {piece(core.function, at) for at in range(len(core.work))}
        assert pieces <= set(range(kinds_of(core.function)))


def test_a_shared_configuration_keeps_a_function_for_each_kind_of_turn():
    """Which other layers call, too: they are counted each with an entry of its own."""
    program, *_ = program_of(small(), 64, 128)
    one, source = source_of(program, turned_names(program))
    assert not one.together
    assert "_calls(" not in source
    assert "alias(" not in source


def test_layers_whose_sums_start_from_nothing_have_no_numbers_for_it():
    workload, constants, _ = made()
    with pytest.raises(TargetError, match="start from something"):
        without_starts(Converted(workload, constants))
    empty = {**constants, "offset": np.zeros_like(constants["offset"])}
    bare = without_starts(Converted(workload, empty))
    assert "offset" not in {o.name for o in bare.workload.operands}
    assert (dense_layer(workload).bias, dense_layer(bare.workload).bias) == (True, False)
    program = laid_out(bare.workload, bare.constants)
    x = np.random.default_rng(2).integers(-128, 128, bare.workload.inputs[0].shape).astype(np.int8)
    wanted = reference(bare.workload, [x], bare.constants)
    np.testing.assert_array_equal(wanted, reference(workload, [x], empty))
    np.testing.assert_array_equal(execute(program, NPU1, {"x": x}).tensor(wanted), wanted)
    assert read(text(program, NPU1), NPU1, kernels_of(program)) == program


def test_scaled_sums_keep_their_numbers():
    workload, constants, _ = made("channel")
    with pytest.raises(TargetError, match="scaled"):
        without_starts(Converted(workload, constants))
