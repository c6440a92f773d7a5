"""Kernel schedules: what they reach, that they hold, and that the verifier sees what does not."""

import csv
import random
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from itertools import product

import pytest

from match_aie.errors import InternalError, MatchError, TargetError
from match_aie.targets.aie_ml import Tiling, device
from match_aie.targets.aie_ml.kernels.spec import KernelSpec
from match_aie.targets.aie_ml.kernels.spec import Requantise as Tail
from match_aie.targets.aie_ml.schedule import (
    BlockSchedule,
    Kernel,
    Placed,
    best_block,
    machine,
    schedule_block,
    schedule_call,
    verify,
)
from match_aie.targets.aie_ml.schedule.call import ArchitectureKey
from match_aie.targets.aie_ml.schedule.generated import schedule_of
from match_aie.targets.aie_ml.schedule.least import least_body
from match_aie.targets.aie_ml.schedule.place import LOOP_SWITCH
from match_aie.targets.aie_ml.schedule.run import ends, unroll
from tests.kernel_counts import emitted_counts, kernel_counts
from tests.shared import DATA
from tests.thinned import thinned

VEK280 = device("vek280").architecture
CORE = machine(VEK280)
I8 = Kernel("int8", "int8", "int8", Tiling(4, 8, 8, True))
I16I8 = Kernel("int16", "int8", "int8", Tiling(4, 4, 8, True))
I16 = Kernel("int16", "int16", "int16", Tiling(4, 4, 4, True, 64, 64))
CALIBRATION = DATA / "aie_calibration.csv"


@pytest.mark.parametrize(
    ("kernel", "size", "least"),
    [(I8, (128, 128, 128), 96), (I16I8, (128, 128, 128), 97), (I16, (128, 64, 64), 95)],
    ids=["i8xi8", "i16xi8", "i16xi16"],
)
def test_a_call_with_bias_relu_and_shift_reaches_the_core(
    kernel: Kernel, size: tuple[int, int, int], least: float
) -> None:
    call = schedule_call(kernel, VEK280, *size)
    assert 100 * call.efficiency >= least
    for part in call.parts:
        verify(part.schedule, call.kernel.block(2, 2), CORE)
    wide = schedule_call(replace(kernel, requantise="multiplier"), VEK280, *size)
    assert call.cycles < wide.cycles


def test_the_reduction_sets_the_pace_and_the_epilogue_is_hidden() -> None:
    for steps in (16, 28, 56, 200):
        flat = schedule_block(replace(I8, variant="flat"), CORE, steps)
        loop = schedule_block(I8, CORE, steps)
        assert flat.interval == loop.interval == 4
        assert flat.length == 4 * steps
        assert loop.length == 4 * steps + LOOP_SWITCH
    exposed = schedule_block(replace(I8, variant="exposed"), CORE, 16)
    assert exposed.length > 64 + 10


def cases(count: int, seed: int) -> list[tuple[Kernel, int]]:
    """Random kernels and numbers of steps."""
    dice = random.Random(seed)
    pairs = [
        ("int8", "int8", "int8"),
        ("uint8", "int8", "uint8"),
        ("int16", "int8", "int16"),
        ("int16", "int16", "int16"),
        ("bfloat16", "bfloat16", "bfloat16"),
        ("int32", "int16", "int16"),
        ("int16", "int32", "int16"),
        ("int32", "int32", "int16"),
    ]
    found = []
    while len(found) < count:
        a, w, out = dice.choice(pairs)
        position = dice.choice(["single", "first", "middle", "last"])
        forms = ["shift"] if a == "bfloat16" else ["shift", "multiplier", "channel", "none"]
        rows, columns = dice.choice([(2, 2), (1, 1), (2, 1), (4, 1), (1, 3), (3, 3)])
        kernel = Kernel(
            a,
            w,
            out,
            dice.choice(VEK280.core.tilings_of(a, w)),
            rows,
            columns,
            position,
            bias=position in ("single", "first") and dice.random() < 0.5,
            relu=dice.random() < 0.5,
            requantise=dice.choice(forms),
            variant=dice.choice(["overlapped", "flat"]),
            weight_banks=dice.choice([1, 2]),
        )
        found.append((kernel, dice.choice([1, 2, 3, 5, 16, 40])))
    return found


def test_every_schedule_that_is_found_holds() -> None:
    held = 0
    for kernel, steps in cases(20, seed=1):
        try:
            schedule = schedule_block(kernel, CORE, steps)
        except TargetError:
            continue  # too many accumulators for the registers
        for blocks in (1, 2, 3, 5):
            verify(schedule, kernel, CORE, blocks)
        held += 1
    assert held > 12


def test_sums_of_an_earlier_call_are_loaded_in_time() -> None:
    for kernel in (I8, I16, replace(I8, out="int32", requantise="none"), I16I8):
        for variant in ("flat", "overlapped"):
            resumed = replace(kernel, bias=False, resumes=True, variant=variant)
            schedule = schedule_block(resumed, CORE, 28)
            for blocks in (1, 2, 5):
                verify(schedule, resumed, CORE, blocks)
            loads = [p for p in schedule.placed if p.operation.kind == "load_accumulator"]
            lanes = resumed.tiling.m * resumed.tiling.n
            assert len(loads) == 4 * lanes * 4 // 32
            assert {p.operation.latency for p in loads} == {7 if lanes == 32 else 9}


def change(
    schedule: BlockSchedule, which: Callable[[Placed], bool], how: Callable[[Placed], Placed | None]
) -> BlockSchedule:
    """The schedule with one operation changed or, where `how` gives None, left out."""
    at = next(i for i, placed in enumerate(schedule.placed) if which(placed))
    changed = how(schedule.placed[at])
    middle = () if changed is None else (changed,)
    return replace(schedule, placed=(*schedule.placed[:at], *middle, *schedule.placed[at + 1 :]))


def is_kind(kind: str) -> Callable[[Placed], bool]:
    return lambda placed: placed.operation.kind == kind


def shifted(cycles: int) -> Callable[[Placed], Placed]:
    return lambda placed: placed._replace(cycle=placed.cycle + cycles)


@pytest.mark.parametrize(
    ("which", "how", "complaint"),
    [
        (is_kind("product"), shifted(1), "taken twice"),
        (is_kind("load"), shifted(4000), "early"),
        (is_kind("load"), lambda p: p._replace(slot="store"), "does not issue"),
        (is_kind("load"), lambda p: None, "never written"),
        (is_kind("store"), lambda p: None, "times, not"),
        (is_kind("srs"), shifted(-6), "early|taken|port"),
        (is_kind("load_accumulator"), shifted(40), "already use|not begun|taken"),
    ],
)
def test_the_verifier_sees_what_is_wrong(
    which: Callable[[Placed], bool],
    how: Callable[[Placed], Placed | None],
    complaint: str,
) -> None:
    schedule = schedule_block(I8, CORE, 16)
    verify(schedule, I8, CORE)
    with pytest.raises(InternalError, match=complaint):
        verify(change(schedule, which, how), I8, CORE)


def test_the_verifier_counts_registers_and_banks() -> None:
    schedule = schedule_block(I8, CORE, 16)
    with pytest.raises(InternalError, match="registers of c/t"):
        verify(schedule, I8, replace(CORE, accumulators=7))
    with pytest.raises(InternalError, match="registers of a/w"):
        verify(schedule, I8, replace(CORE, vectors=3))
    one_bank = replace(
        schedule,
        placed=tuple(
            p._replace(operation=replace(p.operation, bank="A" if p.operation.bank else ""))
            for p in schedule.placed
        ),
    )
    with pytest.raises(InternalError, match="bank A is accessed twice"):
        verify(one_bank, I8, CORE)
    with pytest.raises(InternalError, match="closer than 5"):
        verify(schedule, I8, replace(CORE, product_distance=5))
    with pytest.raises(InternalError, match="begins anew"):
        verify(replace(schedule, sets=1), I8, CORE)


def test_floats_keep_their_distance() -> None:
    bf16 = Kernel("bfloat16", "bfloat16", "bfloat16", Tiling(4, 8, 4, True))
    assert schedule_block(bf16, CORE, 16).interval == 4
    assert schedule_block(bf16.block(1, 1), CORE, 16).interval == 4
    assert schedule_block(I8.block(1, 1), CORE, 16).interval == 2


@pytest.mark.parametrize("at", thinned((0, 1), 2))
def test_operations_are_those_of_the_emitted_kernel(at: int) -> None:
    compared: Counter[tuple[str, str]] = Counter()
    for (a, b, out), form, position, (rows, columns), begin in product(
        (
            ("int8", "int8", "int8"),
            ("uint8", "int8", "uint8"),
            ("int16", "int8", "int16"),
            ("int16", "int16", "int16"),
            ("bfloat16", "bfloat16", "bfloat16"),
            ("int32", "int16", "int16"),
            ("int16", "int32", "int16"),
            ("int32", "int32", "int32"),
        ),
        ("shift", "tensor", "channel", "none"),
        ("only", "first", "middle", "last"),
        ((2, 2), (1, 1), (4, 1)),
        ("bias", "zeros", "sums"),
    ):
        for t in VEK280.core.tilings_of(a, b)[at : at + 1]:
            stored = "int32" if form == "none" and a != "bfloat16" else out
            try:
                spec = KernelSpec(
                    a, b, t, rows, columns, t.m * rows * 3, t.k * 8, t.n * columns * 2,
                    Tail(form, stored),
                    position=position, bias=begin == "bias", resumes=begin == "sums",
                    relu=True, flat=rows == columns,
                )  # fmt: skip
                call = schedule_of(spec, VEK280)
            except MatchError:
                continue
            assert emitted_counts(call) == kernel_counts(spec, VEK280.core), spec.family
            assert call.kernel.variant == ("flat" if spec.flat else "overlapped")
            compared[a, b] += 1
    assert len(compared) == 8
    assert min(compared.values()) >= 24, compared


def test_ragged_calls_are_sums_of_their_blocks() -> None:
    call = schedule_call(I8, VEK280, 20, 64, 24)
    assert sorted((p.times, p.schedule.block.sums[-1]) for p in call.parts) == [
        (1, "c0.0"),
        (1, "c0.1"),
        (2, "c1.0"),
        (2, "c1.1"),
    ]
    assert call.counts.products == 5 * 3 * 8
    longer = schedule_call(I8, VEK280, 28, 64, 24)
    assert longer.cycles > call.cycles


def test_the_block_is_chosen_by_cycles() -> None:
    assert best_block(I8, VEK280, 1, 256, 128).kernel.rows == 1
    many = best_block(I8, VEK280, 64, 128, 64)
    assert many.kernel.rows * many.kernel.columns == 4
    assert many.cycles <= schedule_call(I8.block(1, 4), VEK280, 64, 128, 64).cycles


def test_what_is_not_known_is_refused_by_name() -> None:
    arch = device("npu2").architecture
    unknown = replace(arch, core=replace(arch.core, accumulators=None))
    with pytest.raises(TargetError, match="registers of XDNA2"):
        schedule_call(I8, unknown, 64, 64, 64)
    with pytest.raises(TargetError, match="no native product of int8 by int16"):
        schedule_call(replace(I8, w="int16"), VEK280, 64, 64, 64)
    with pytest.raises(TargetError, match="fits the registers"):
        schedule_call(I8.block(4, 4), VEK280, 64, 64, 64)
    with pytest.raises(TargetError, match="bias behind a cascade"):
        replace(I8, position="last")


def published(workload: str, config: str) -> float:
    """A figure of the calibration file."""
    with CALIBRATION.open() as handle:
        for row in csv.DictReader(handle):
            if row["workload"].startswith(workload) and row["config"].startswith(config):
                return float(row["value"])
    raise AssertionError(f"no row {workload}")


def test_the_loop_switch_is_what_the_rows_leave_over() -> None:
    """(cycles - call - fill - products) / (blocks - 1), fill from a flat schedule."""
    plain = replace(I8, bias=False, relu=False, variant="flat")
    fitted = []
    for kernel, size, name, config in (
        (plain, (64, 64, 64), "dense 64x64x64", "i8xi8 <4,8,8>"),
        (plain, (128, 128, 128), "dense 128x128", "i8xi8, no bias"),
        (
            replace(I16I8, bias=False, relu=False, variant="flat"),
            (128, 128, 128),
            "dense 128x128",
            "i16xi8",
        ),
    ):
        flat = schedule_call(kernel, VEK280, *size)
        value = published(name, config)
        cycles = value if size[0] == 64 else 2 * flat.macs * 1.25 / value
        fitted.append((cycles - flat.cycles) / (flat.blocks - 1))
    assert round(sum(fitted) / len(fitted)) == LOOP_SWITCH


def test_longer_runs_repeat_the_pattern() -> None:
    schedule = schedule_block(I8, CORE, 12)
    three, nine = unroll(schedule, 5), unroll(schedule, 9)
    span = max(i.cycle for i in nine) - max(i.cycle for i in three)
    assert span == 4 * schedule.length
    assert len(nine) - len(three) == 4 * len(schedule.placed)


@pytest.mark.parametrize("kernel", [I8, I16, replace(I8, requantise="channel", addends=True)])
def test_longer_reductions_only_repeat(kernel: Kernel) -> None:
    """What is scheduled once serves all longer reductions; kernels with a loop, too."""
    for variant in ("flat", "overlapped"):
        varied = replace(kernel, variant=variant)
        for steps in (1, 3, 27, 28, 29, 90):
            call = schedule_call(varied, VEK280, 32, steps * kernel.tiling.k, 32)
            alone = schedule_block(varied, CORE, steps)
            assert call.parts[0].schedule.length == alone.length
            assert call.parts[0].schedule.placed == alone.placed
            assert ends(call.parts[0].schedule, 5) == ends(alone, 5)


def test_no_schedule_beats_the_least_cycles() -> None:
    close = 0
    for kernel, steps in cases(16, seed=7):
        t = kernel.tiling
        for rows, columns in ((1, 1), (4, 8), (5, 7)):
            size = rows * t.m, steps * t.k, columns * t.n
            try:
                body = schedule_call(kernel, VEK280, *size).body
            except TargetError:
                continue
            least = least_body(kernel, ArchitectureKey(VEK280), size)
            assert least <= body
            close += body < 1.1 * least
    assert close > 4


@pytest.mark.parametrize("form", ["multiplier", "channel"])
def test_a_product_of_32_bit_integers_is_four_of_halves(form: str) -> None:
    """The halves of both factors, told apart by shuffles, are multiplied with each other."""
    scaled = replace(I8, requantise=form, addends=form == "channel", variant="flat")
    blocks = [(2, 2), (1, 1), (1, 4)]
    for (rows, columns), steps in product(blocks, (1, 9, 28)):
        kernel = scaled.block(rows, columns)
        schedule = schedule_block(kernel, CORE, steps)
        for count in (1, 2, 5):
            verify(schedule, kernel, CORE, count)
        chain = Counter(op.kind for op in schedule.block.finish[0])
        assert chain["multiply"] == 2 * 4  # two parts of 16 sums
        vector = rows * columns * (steps + 8)
        assert schedule.length >= max(vector, steps * schedule.interval)
    # Where products leave no vector slot free, each takes one bundle more and nothing else does.
    assert schedule_block(scaled, CORE, 16).length == 16 * 4 + 4 * 8
    # A single accumulator's products wait for each other: half of the slots are free.
    assert schedule_block(scaled.block(1, 1), CORE, 28).length == 28 * 2


def test_kernels_that_add_to_results_load_them_first() -> None:
    """Loads share a bank and a port with stores: sums of 32 bits are worst off, others hide."""
    lengths = {}
    for out, form in (("int8", "shift"), ("int16", "shift"), ("int32", "none")):
        plain = replace(I8, out=out, requantise=form, bias=False, relu=False, variant="exposed")
        adds = replace(plain, adds=True)
        schedule = schedule_block(adds, CORE, 11)
        for count in (1, 2, 5):
            verify(schedule, adds, CORE, count)
        loads = Counter(op.latency for op in schedule.block.start)
        latency, words = {"int8": (9, 1), "int16": (9, 2), "int32": (7, 4)}[out]
        assert loads == {latency: 4 * words}
        # No load moves up over the products of the block before.
        begun = [p.cycle for p in schedule.placed if p.operation in schedule.block.start]
        assert min(begun) > 11 * 4 - 1 - schedule.length
        lengths[out] = schedule.length, schedule_block(plain, CORE, 11).length
    assert lengths["int8"][0] == lengths["int8"][1]
    assert lengths["int32"][0] >= 11 * 4 + 16 + 16
    with pytest.raises(TargetError, match="without a bias"):
        replace(I8, adds=True, variant="exposed")
