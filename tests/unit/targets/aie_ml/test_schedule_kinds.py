"""Schedules of every kind of generated kernel: proven, and with the operations of its source."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from match_aie.errors import TargetError
from match_aie.targets.aie_ml import Tiling, device
from match_aie.targets.aie_ml.kernels.lanes import AddSpec, MaxPoolSpec
from match_aie.targets.aie_ml.kernels.spec import KernelSpec, Position, Requantise
from match_aie.targets.aie_ml.schedule import CallSchedule, verify
from match_aie.targets.aie_ml.schedule.generated import add_schedule, pool_schedule, schedule_of
from tests.kernel_counts import counts_of, emitted_counts, kernel_counts

ARCH = device("vek280").architecture
NATIVE = {("int8", "int8"): Tiling(4, 8, 8, True), ("int16", "int8"): Tiling(4, 4, 8, True)}


def proven(call: CallSchedule) -> CallSchedule:
    for part in call.parts:
        verify(part.schedule, call.kernel, call.core, blocks=5)
    return call


@st.composite
def tails(draw: st.DrawFn) -> Requantise:
    form = draw(st.sampled_from(["shift", "tensor", "channel", "none"]))
    if form == "none":
        return Requantise("none", "int32")
    scaled = form != "shift"
    return Requantise(
        form,
        draw(st.sampled_from(["int8", "uint8", "int16"])),
        lo=draw(st.sampled_from([None, 3])),
        hi=draw(st.sampled_from([None, 100])),
        addend=draw(st.sampled_from(["zero_point", "tensor", "channel"]))
        if scaled
        else "zero_point",
        narrow=scaled and draw(st.booleans()),
    )


@st.composite
def specs(draw: st.DrawFn) -> KernelSpec:
    operation = draw(st.sampled_from(["mmul", "multiply", "sum"]))
    a, b = draw(st.sampled_from(list(NATIVE))) if operation == "mmul" else ("int8", "int8")
    matrix = operation == "mmul"
    tiling = NATIVE[a, b] if matrix else Tiling(4, 1, 8, False)
    rows, columns = draw(st.sampled_from([(2, 2), (4, 1), (1, 1), (2, 1)]))
    position: Position = draw(st.sampled_from(["only", "first", "last"])) if matrix else "only"
    bias = position != "last" and draw(st.booleans())
    return KernelSpec(
        a,
        b,
        tiling,
        rows,
        columns,
        tiling.m * rows * draw(st.integers(1, 5)),
        tiling.k * draw(st.integers(2, 40)),
        tiling.n * columns * draw(st.integers(1, 3)),
        draw(tails()),
        position,
        bias,
        operation=operation,
        gathered=not matrix or draw(st.booleans()),
        border_bias=bias and draw(st.booleans()),
        row_bias=bias and draw(st.booleans()),
    )


@given(specs())
@settings(max_examples=60, deadline=None)
def test_every_generated_kernel_has_a_proven_schedule(spec: KernelSpec) -> None:
    try:
        call = schedule_of(spec, ARCH)
    except TargetError:
        # Registers do not suffice, which only the largest blocks of wide sums may say.
        assert spec.rows * spec.columns > 1
        return
    proven(call)
    assert emitted_counts(call) == kernel_counts(spec, ARCH.core)
    products = kernel_counts(spec, ARCH.core)
    assert call.body >= products.vmac + products.multiply
    assert call.body >= products.load / 2


@given(
    st.sampled_from(["int8", "uint8", "int16"]),
    st.sampled_from(["int8", "uint8", "int16"]),
    st.booleans(),
    st.booleans(),
    st.integers(1, 90),
)
@settings(max_examples=25, deadline=None)
def test_sums_of_activations(a: str, dtype: str, lo: bool, hi: bool, vectors: int) -> None:
    spec = AddSpec(a, dtype, lo, hi)
    call = proven(add_schedule(spec, ARCH, vectors))
    assert emitted_counts(call) == counts_of(spec, vectors)
    assert call.body >= 2 * vectors


@given(
    st.sampled_from([("uint8", 4, 8), ("int8", 2, 8), ("int16", 4, 8), ("int8", 8, 8)]),
    st.integers(1, 4),
    st.integers(1, 6),
    st.integers(1, 12),
)
@settings(max_examples=25, deadline=None)
def test_maximum_pools(tile: tuple[str, int, int], rows: int, groups: int, taps: int) -> None:
    dtype, m, n = tile
    spec = MaxPoolSpec(dtype, m, n, rows)
    blocks = 2
    call = proven(pool_schedule(spec, ARCH, blocks * groups * rows, taps))
    assert emitted_counts(call) == counts_of(spec, blocks, groups, taps)


def test_unaligned_tiles_cost_more_than_aligned_ones() -> None:
    tail = Requantise("shift", "int8")
    shape = ("int8", "int8", Tiling(4, 8, 8, True), 2, 2, 32, 256, 32, tail)
    aligned, gathered = (schedule_of(KernelSpec(*shape, gathered=g), ARCH) for g in (False, True))
    assert gathered.body > 1.1 * aligned.body
    with pytest.raises(TargetError, match="no schedule"):
        schedule_of(KernelSpec("int8", "int8", Tiling(1, 8, 8, False), 1, 2, 1, 64, 16, tail), ARCH)
