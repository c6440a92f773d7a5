"""Dense layers of several reductions by one configuration of an array, its text and its kernels."""

from dataclasses import replace

import numpy as np
import pytest

from match_aie.errors import InfeasibleError, MatchError, TargetError
from match_aie.targets.aie_ml.array.assumed import RUNTIME_BYTES
from match_aie.targets.aie_ml.array.check import violations
from match_aie.targets.aie_ml.array.roles import bytes_of_roles
from match_aie.targets.aie_ml.execute import execute
from match_aie.targets.aie_ml.execute.errors import ExecutionError
from match_aie.targets.aie_ml.graph.dense_plan import dense_layer
from match_aie.targets.aie_ml.graph.overlay import Overlay
from match_aie.targets.aie_ml.kernels.arithmetic import NARROW_ERROR, in_fixed_point
from match_aie.targets.aie_ml.kernels.layout import packed_halves
from match_aie.targets.aie_ml.schedule.call import BUNDLE_BYTES, FRAME_BUNDLES
from match_aie.targets.aie_ml.schedule.generated import schedule_of
from match_aie.targets.aie_ml.simulate import run_layer
from match_aie.targets.xdna.mlir import DIALECTS, read, text
from match_aie.targets.xdna.mlir.host import host_arguments
from match_aie.targets.xdna.mlir.overlay import kernels_of_overlay, overlay, single
from match_aie.targets.xdna.mlir.syntax import TextError
from match_aie.targets.xdna.mlir.turns import pairs_of
from match_aie.workload import reference
from tests.cc.xdna.test_hosts import brought, transfers
from tests.overlays import (
    NPU1,
    floats_of,
    layer_of,
    program_by,
    program_of,
    real_of,
    small,
    small_apart,
    small_floats,
    small_halved,
    small_single,
)

#: Rows and reduction of layers of `small`: passes, calls along the rows, turns.
SIZES = {"short": (128, 64), "long": (64, 256), "between": (64, 128)}

#: Likewise of `small_apart`.
APART = {"short": (256, 32), "long": (32, 256), "between": (64, 128)}


@pytest.fixture(scope="module")
def programs():
    return {name: program_of(small(), *size)[0] for name, size in SIZES.items()}


@pytest.mark.parametrize("size", [*SIZES.values(), (384, 64), (192, 256), (256, 128)])
@pytest.mark.parametrize("feeds", [1, 2])
def test_results_are_the_references(size, feeds):
    program, made, plan = program_of(replace(small(), feeds=feeds), *size)
    x = np.random.default_rng(1).integers(-128, 128, size).astype(np.int8)
    wanted = reference(made.workload, [x], made.constants)
    assert np.unique(wanted).size > 20
    done = execute(program, NPU1, {"x": x})
    np.testing.assert_array_equal(done.tensor(wanted), wanted)
    run = run_layer(program, NPU1)
    assert run.whole
    modelled, least = plan.traffic
    rows, reduction = size
    m = plan.timed.mapping
    weights = reduction * m.layer.columns * plan.timed.passes * m.row_steps
    assert run.moved == modelled > least == rows * (reduction + m.layer.columns) + weights


@pytest.mark.parametrize("form", [small_apart, small_halved])
@pytest.mark.parametrize("size", [(256, 32), (64, 128), (32, 256), (96, 256)])
def test_weights_spread_over_memory_tiles(size, form):
    """Each memory tile has a part of the columns; no tile has a cascade."""
    shared = form()
    program, made, plan = program_of(shared, *size)
    x = np.random.default_rng(1).integers(-128, 128, size).astype(np.int8)
    wanted = reference(made.workload, [x], made.constants)
    assert np.unique(wanted).size > 20
    done = execute(program, NPU1, {"x": x})
    np.testing.assert_array_equal(done.tensor(wanted), wanted)
    run = run_layer(program, NPU1)
    assert run.whole
    modelled, least = plan.traffic
    assert run.moved == modelled > least
    (one,) = {core.function for core in program.cores}
    assert one.kernels[0] == one.kernels[-2]
    assert len({kernel.family for kernel in one.kernels}) == 2


def test_the_last_turns_own_blocks_leave_the_cascades_words_as_they_were():
    """Chains take sums in the first turn and send them in the last one, by the same blocks."""
    shared = replace(small(), mapping=replace(small().mapping, last_block=(1, 1)))
    program, made, _ = program_of(shared, 64, 128)
    (last,) = {
        core.function for core in program.cores if core.function.kernels[-1].position == "only"
    }
    assert [(k.rows, k.columns) for k in last.kernels[:: len(last.kernels) - 1]] == [(2, 2), (1, 1)]
    x = np.random.default_rng(1).integers(-128, 128, (64, 128)).astype(np.int8)
    wanted = reference(made.workload, [x], made.constants)
    np.testing.assert_array_equal(execute(program, NPU1, {"x": x}).tensor(wanted), wanted)
    spec = replace(last.call.spec, columns=1)
    other = replace(last, call=replace(last.call, spec=spec))
    cores = tuple(
        replace(core, function=other) if core.function == last else core for core in program.cores
    )
    broken = replace(program, cores=cores)
    assert {rule for rule, _ in violations(broken, NPU1)} == {"cascade-order"}
    with pytest.raises(ExecutionError, match="another order"):
        execute(broken, NPU1, {"x": x})


def test_numbers_in_halves_are_fewer_bytes():
    """Behind weights; those of both halves wait in the tile."""
    ways = []
    for shared in (small_apart(), replace(small_apart(), halved=True)):
        program, *_ = program_of(shared, 64, 128)
        ways.append([way.outside.elements for way in program.ways if way.outside.name[0] == "w"])
    columns, turns = 16, 2 * 2 * 8  # of a call; of a pass
    for whole, half in zip(*ways, strict=True):
        assert whole - half == turns * 3 * 4 * columns // 2
    held = [b for b in program.buffers if b.name == "numbers"]
    assert len(held) == 8
    assert all(b.bytes == 3 * 4 * columns for b in held)


def test_program_memory_counts_each_function_of_a_core():
    """Those of turns, and the kernel that two of these call: each has an entry of its own."""
    arch = NPU1.architecture
    program, *_ = program_of(small_halved(), 64, 128)
    (nest,) = {core.function for core in program.cores}
    need = bytes_of_roles(nest, arch)
    code = sum(schedule_of(k, arch).program_bytes for k in {nest.kernels[0], nest.kernels[-1]})
    frame = FRAME_BUNDLES * BUNDLE_BYTES
    assert 0 < need - RUNTIME_BYTES - code - 2 * frame < frame  # loops around them
    assert nest.k_tiles > 2  # turns of all roles
    assert {core.program_bytes for core in program.cores} == {need}  # and no name that hands on


def test_narrow_multipliers_are_taken_where_they_are_near():
    """By at most 2^-7 of a step; scales that are far apart have some of few bits."""
    workload, constants = real_of(64, 128, 64)
    wide, narrow = (in_fixed_point(workload, constants, narrow=each) for each in (False, True))
    assert narrow.error_lsb - wide.error_lsb <= NARROW_ERROR
    assert dense_layer(narrow.workload).requantise == "narrow_channel"
    assert np.abs(narrow.constants["multiplier"]).max() < 1 << 15
    x = np.random.default_rng(1).integers(-128, 128, (64, 128)).astype(np.int8)
    made = [reference(one.workload, [x], one.constants).astype(int) for one in (wide, narrow)]
    assert np.abs(made[0] - made[1]).max() <= 1
    assert np.mean(made[0] != made[1]) < 0.02
    scale = constants["scale"] * np.where(np.arange(64) % 2, 1, 2.0**-9).astype(np.float32)
    far = in_fixed_point(workload, {**constants, "scale": scale}, narrow=True)
    assert dense_layer(far.workload).requantise == "channel"
    with pytest.raises(TargetError, match="beyond 16 bits"):
        packed_halves(np.array([1 << 15, 0]))


def test_numbers_that_are_no_halves_are_refused():
    program, *_ = program_of(small_halved(), 64, 128)
    nest = program.cores[0].function
    for wrong in ({"primed": False}, {"numbers": 1}):
        with pytest.raises(TargetError, match=r"halves\b|behind no weights"):
            replace(nest, **wrong)


@pytest.mark.parametrize("size", [(256, 32), (32, 256)])
def test_last_turns_of_single_tiles(size):
    """Sums wait as tiles, whatever blocks the turns have."""
    program, made, _ = program_of(small_single(), *size)
    x = np.random.default_rng(1).integers(-128, 128, size).astype(np.int8)
    wanted = reference(made.workload, [x], made.constants)
    np.testing.assert_array_equal(execute(program, NPU1, {"x": x}).tensor(wanted), wanted)
    assert run_layer(program, NPU1).whole
    (one,) = {core.function for core in program.cores}
    assert [(kernel.rows, kernel.columns) for kernel in one.kernels[-2:]] == [(2, 2), (1, 1)]


def test_weights_are_not_spread_where_columns_of_tiles_have_parts_of_their_own():
    shared = small_apart()
    apart = replace(shared, mapping=replace(shared.mapping, order="n"))
    with pytest.raises(TargetError, match="spread"):
        program_of(apart, 64, 128)


@pytest.mark.parametrize("shared", [small_apart(), small_single(), small_halved()])
def test_one_text_has_all_programs_of_tiles_without_a_cascade(shared):
    programs = {name: program_of(shared, *size)[0] for name, size in APART.items()}
    module, kernels = overlay(programs, NPU1), kernels_of_overlay(programs)
    for name, program in programs.items():
        assert read(single(module, name), NPU1, kernels[name]) == program
    assert module.count("aie.core(") == 8


@pytest.mark.parametrize("size", [*SIZES.values(), (384, 64), (192, 256)])
def test_results_in_bfloat16_are_the_references(size):
    """Sums wait as floats between turns, whose order is the reference's."""
    shared = small_floats()
    made = floats_of(*size, shared.columns)
    program, _, plan = program_by(shared, made)
    x = np.random.default_rng(1).standard_normal(size).astype(np.float32)
    wanted = reference(made.workload, [x], made.constants)
    assert np.unique(wanted).size > 20
    done = execute(program, NPU1, {"x": x})
    np.testing.assert_array_equal(done.tensor(wanted), wanted)
    run = run_layer(program, NPU1)
    assert run.whole
    modelled, least = plan.traffic
    rows, reduction = size
    m = plan.timed.mapping
    weights = reduction * m.layer.columns * plan.timed.passes * m.row_steps
    tensors = rows * (reduction + m.layer.columns) + weights
    assert run.moved == modelled > least == 2 * tensors


def test_one_text_has_all_programs_in_bfloat16():
    """Each comes out of it with its number of turns, and is read back."""
    shared = small_floats()
    programs = {
        name: program_by(shared, floats_of(*size, shared.columns))[0]
        for name, size in SIZES.items()
    }
    found = {name: set(pairs_of(one).values()) for name, one in programs.items()}
    assert found == {"short": {0}, "between": {1}, "long": {3}}
    module = overlay(programs, NPU1)
    kernels = kernels_of_overlay(programs)
    for name, program in programs.items():
        assert read(single(module, name), NPU1, kernels[name]) == program
    assert module.count("aie.core(") == 16


def test_interface_tiles_go_through_tensors_themselves(programs):
    for program in programs.values():
        ways = [way.outside for way in program.ways if way.outside.values is None]
        assert len(ways) == 4 + 4
        assert all(way.blocks is not None and way.blocks.memory for way in ways)


@pytest.mark.parametrize("dialect", [d for d in DIALECTS.values() if not d.globals])
def test_one_text_has_all_programs(programs, dialect):
    """The array is configured once; each program comes out of it, and is read back."""
    module = overlay(programs, NPU1, dialect)
    kernels = kernels_of_overlay(programs)
    for name, program in programs.items():
        mine = single(module, name)
        assert mine == text(program, NPU1, dialect, turned=True)
        assert read(mine, NPU1, kernels[name]) == program
    assert module.count("runtime_sequence @") == len(programs)
    assert module.count("aie.core(") == 16
    # What differs are counts of this project, and what sequences say.
    assert "%count" not in module


@pytest.mark.parametrize(
    ("shared", "size"), [(small(), SIZES["short"]), (small_apart(), APART["short"])]
)
def test_layers_of_two_turns_are_read_back(shared, size):
    """The text names a function of turns between, which no call of theirs has."""
    rows, reduction = size
    programs = {
        name: program_of(shared, many, reduction)[0]
        for name, many in (("one", rows), ("two", 2 * rows))
    }
    assert {pairs for one in programs.values() for pairs in pairs_of(one).values()} == {0}
    module, kernels = overlay(programs, NPU1), kernels_of_overlay(programs)
    for name, program in programs.items():
        assert read(single(module, name), NPU1, kernels[name]) == program


def test_the_host_writes_how_many_turns(programs):
    found = {name: set(pairs_of(one).values()) for name, one in programs.items()}
    assert found == {"short": {0}, "between": {1}, "long": {3}}
    module = overlay(programs, NPU1)
    long = single(module, "long")
    assert long.count("_turns_0, 0, 3)") == 16
    assert long.count("aiex.npu.rtp_write(@") == 16 + 8
    sequence = long[long.index("runtime_sequence") :]
    # Before any transfer: a core's first inputs say that its number is there.
    assert sequence.rindex("rtp_write") < sequence.index("dma_memcpy_nd")
    # Behind the first turn of a block, whose inputs this sequence brought.
    core = long[long.index("aie.core(") :]
    assert core.index("_begins(") < core.index("memref.load") < core.index("_goes_on(")


def test_another_number_of_turns_is_another_program(programs):
    mine = single(overlay(programs, NPU1), "long")
    kernels = kernels_of_overlay(programs)["long"]
    wrong = mine.replace("turns_0, 0, 3)", "turns_0, 0, 2)", 1)
    assert wrong != mine
    with pytest.raises(MatchError):
        read(wrong, NPU1, kernels)
    lacking = "\n".join(line for line in mine.splitlines() if "@b_0_2_turns_0, 0" not in line)
    with pytest.raises(TextError, match="no sequence writes b_0_2_turns_0"):
        read(lacking, NPU1, kernels)


def test_layers_of_another_kernel_are_another_configuration(programs):
    shifted, *_ = program_of(small(), 64, 256, lowest=-5)
    other = {**programs, "other": shifted}
    with pytest.raises(TargetError, match="short and other have different kernels"):
        overlay(other, NPU1)


def test_layers_of_other_blocks_are_another_configuration(programs):
    chunked, *_ = program_of(replace(small(), blocks=16), 256, 64)
    with pytest.raises(TargetError, match="short and other are not one configuration"):
        overlay({**programs, "other": chunked}, NPU1)


def test_a_plain_dense_program_has_no_such_text(programs):
    core = programs["long"].cores[0]
    odd = replace(core, work=core.work[1:])
    broken = replace(programs["long"], cores=(odd, *programs["long"].cores[1:]))
    with pytest.raises(TargetError, match="which no number at run time says"):
        text(broken, NPU1, turned=True)


def test_older_dialects_are_refused(programs):
    old = next(d for d in DIALECTS.values() if d.globals)
    with pytest.raises(TargetError, match="symbols of ways whose sizes differ"):
        overlay(programs, NPU1, old)
    with pytest.raises(TargetError, match="no sequence 'none' in the text"):
        single(overlay(programs, NPU1), "none")


@pytest.mark.parametrize(
    ("size", "why"),
    [
        ((128, 96), "a reduction of 96 is no even number of turns"),
        ((128, 1024), "a reduction of 1024 is no even number of turns"),
        ((100, 64), "100 rows are no number of passes of 128"),
    ],
)
def test_sizes_that_do_not_divide_are_refused(size, why):
    made = layer_of(*size, small().columns)
    with pytest.raises(TargetError, match=why):
        small().timed(made.workload, "npu1")
    wide = layer_of(128, 64, 96)
    with pytest.raises(TargetError, match="96 columns are not the 64"):
        small().timed(wide.workload, "npu1")


def test_a_partition_of_two_columns_has_a_text_of_its_own():
    half = replace(NPU1, columns=2, shim_noc_columns=(0, 1), gmio_in=4, gmio_out=4)
    shared = replace(small(), mapping=replace(small().mapping, row_parts=2))
    sizes = {"short": (64, 64), "long": (32, 256)}
    programs = {name: program_of(shared, *size, half)[0] for name, size in sizes.items()}
    module = overlay(programs, half)
    assert "aie.device(npu1_2col) {" in module
    kernels = kernels_of_overlay(programs)
    for name, program in programs.items():
        assert {channel.tile[0] for channel in (way.channel for way in program.ways)} <= {0, 1}
        assert read(single(module, name), half, kernels[name]) == program
        with pytest.raises(TargetError, match="a text for npu1_2col"):
            read(single(module, name), NPU1, kernels[name])


@pytest.mark.parametrize("name", SIZES)
def test_sequences_move_what_the_interpreter_moves(programs, name):
    """Bytes of the arguments that each transfer of the text brings or takes, in its order."""
    program, moved = programs[name], transfers(single(overlay(programs, NPU1), name))
    x = np.random.default_rng(3).integers(-128, 128, SIZES[name]).astype(np.int8)
    constants = next(arg for arg in host_arguments(program) if arg.name == "constants")
    streamed = np.zeros(4 * constants.words, np.uint8)
    for one in constants.ways:
        values = one.way.outside.values.view(np.uint8)
        streamed[4 * one.begin :][: values.size] = values
    given = {"inputs": x.reshape(-1).view(np.uint8), "constants": streamed}
    y = np.zeros((SIZES[name][0], small().columns), np.int8)
    for way in (way.outside for way in program.ways):
        argument, at, times = moved[way.name]
        if argument != "outputs":
            assert times == way.repeats
            np.testing.assert_array_equal(given[argument][at], brought(way, {way.name: x}))
            continue
        numbers = np.arange(at.size) % 251 - 125
        way.blocks.paste(numbers.astype(np.int8), y)
        np.testing.assert_array_equal(y.reshape(-1)[at], numbers)
    taken = np.concatenate([moved[f"y_way{n}"][1] for n in range(4)])
    assert sorted(taken) == list(range(y.size))


def test_a_stack_without_room_beside_the_number_is_refused(programs):
    program = programs["long"]
    stacks = {b.name for b in program.buffers if b.role == "stack"}
    full = tuple(
        replace(b, bytes=b.bytes + 4096 - b.bytes % 4096) if b.name in stacks else b
        for b in program.buffers
    )
    with pytest.raises(InfeasibleError, match="the stack does not fit"):
        text(replace(program, buffers=full), NPU1, turned=True)


def test_program_memory_has_room_for_calls_of_all_roles():
    """Cores link what runs between the first and the last turn, if a layer has two turns, too."""
    one = small()
    split = {"column_parts": 2, "row_parts": 4, "call_rows": 64, "call_columns": 64}
    mapping = replace(one.mapping, block=(2, 2), variant="flat", **split)
    shared = Overlay(mapping, 128, 8, 4, 2)
    program, *_ = program_of(shared, shared.rows(512), 512)
    most = NPU1.architecture.core.program_memory_bytes
    assert max(core.program_bytes for core in program.cores) <= most
    with pytest.raises(InfeasibleError, match="program memory"):
        overlay({"layer": program}, NPU1)


def test_layers_with_other_zero_points_have_shifts_of_their_own():
    """Which come at run time."""
    sizes = {"near": ((128, 64), 0), "far": ((64, 256), -100)}
    alone = [layer_of(*size, small().columns, zero=zero) for size, zero in sizes.values()]
    shifts = [made.workload.tail.shift for made in alone]
    assert shifts[0] > shifts[1]
    programs = {}
    for name, one in zip(sizes, alone, strict=True):
        programs[name] = program_by(small(), one)[0]
        x = np.random.default_rng(4).integers(-128, 128, sizes[name][0]).astype(np.int8)
        wanted = reference(one.workload, [x], one.constants)
        done = execute(programs[name], NPU1, {"x": x})
        np.testing.assert_array_equal(done.tensor(wanted), wanted)
    module, kernels = overlay(programs, NPU1), kernels_of_overlay(programs)
    for shift, (name, program) in zip(shifts, programs.items(), strict=True):
        mine = single(module, name)
        # One number in each tile that stores: the second one of a chain of two.
        assert mine.count(f"_turns_0, 1, {shift})") == 8
        assert read(mine, NPU1, kernels[name]) == program
        with pytest.raises(MatchError):
            read(
                mine.replace(f"_turns_0, 1, {shift})", "_turns_0, 1, 9)", 1),
                NPU1,
                kernels[name],
            )
