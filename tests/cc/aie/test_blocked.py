"""Kernels in block floating point (npu2), against numpy bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
from aie_harness import COMPILERS, build_kernels, check, resized

from match_aie.errors import TargetError
from match_aie.targets.aie_ml import device
from match_aie.targets.aie_ml.emulation import ARCH_MACRO
from match_aie.targets.aie_ml.kernels.fit import check_kernel, flattened
from match_aie.targets.aie_ml.kernels.layout import pack_w, unpack_w
from match_aie.targets.aie_ml.kernels.spec import KernelSpec, Requantise
from match_aie.targets.aie_ml.schedule.call import schedule_call
from match_aie.targets.aie_ml.schedule.generated import kernel_of, schedule_of
from match_aie.targets.aie_ml.schedule.verify import verify
from tests.kernel_counts import emitted_counts, kernel_counts

ARRAY = device("npu2")
CORE = ARRAY.architecture.core
(TILING,) = CORE.tilings_of("bfloat16", "bfp16")
TILING_8 = next(t for t in CORE.tilings_of("int8", "int8") if t.native), 1, 1
BLOCKS = ((1, 1), (2, 1), (1, 2), (2, 2), (1, 3), (3, 1))


def kernel(block=(2, 2), position="only", out="bfloat16", **more):
    """Two rows and two columns of blocks, three steps."""
    rows, columns = block
    sizes = 2 * 8 * rows, 24, 2 * 8 * columns
    bias = more.pop("bias", position in ("only", "first"))
    tail = Requantise("none", out)
    types = "bfloat16", "bfp16"
    return KernelSpec(*types, TILING, rows, columns, *sizes, tail, position, bias=bias, **more)


SPECS = [
    kernel(relu=True),
    kernel(position="first"),
    kernel(position="middle"),
    kernel(position="last", relu=True),
    kernel(bias=False),
    kernel(out="float32", relu=True),
    kernel(bias=False, resumes=True),
    kernel(position="first", bias=False, resumes=True),
    kernel(bias=False, out="float32", resumes=True, turned=True),
    kernel((2, 1), turned=True),
    *(kernel(block) for block in BLOCKS),
]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if "g++" not in COMPILERS:
        pytest.skip("not installed: g++")
    macro = f"-D__AIE_ARCH__={ARCH_MACRO[ARRAY.architecture.name]}"
    return build_kernels(SPECS, tmp_path_factory.mktemp("blocked"), None, ("-O0", macro))


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.family)
def test_results_and_counts(library, spec) -> None:
    rng = np.random.default_rng(len(spec.family))
    check_kernel(spec, ARRAY)
    for m, k, n in ((1, 1, 1), (7, 33, 29), (16, 64, 65), (13, 100, 70)):
        changed = resized(spec, m, k, n)
        counted = kernel_counts(changed, CORE)
        assert check(library, changed, rng).counters == vars(counted)
        assert emitted_counts(schedule_of(changed, ARRAY.architecture)) == counted


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.family)
def test_schedules_hold(spec) -> None:
    made = schedule_of(resized(spec, 64, 128, 96), ARRAY.architecture)
    for part in made.parts:
        for blocks in (1, 2, 3, 5):
            verify(part.schedule, kernel_of(spec), made.core, blocks)


def test_operands_become_blocks_as_fast_as_accumulators_are_free() -> None:
    """Four tiles by way of one accumulator, two cycles each: 256 products a cycle and no more."""
    made = schedule_call(kernel_of(kernel()), ARRAY.architecture, 32, 4096, 32)
    assert 0.95 < 2 * made.efficiency < 1.0


def test_what_blocks_do_not_have_is_refused() -> None:
    spec = SPECS[0]
    assert flattened(spec, ARRAY) == spec
    with pytest.raises(TargetError, match="steps in a loop"):
        replace(spec, flat=True)
    with pytest.raises(TargetError, match="tiles as they lie"):
        KernelSpec("int8", "int8", *TILING_8, 8, 8, 8, Requantise("shift", "int8"), turned=True)
    with pytest.raises(TargetError, match="accumulators"):
        check_kernel(kernel((1, 5)), ARRAY)
    with pytest.raises(TargetError, match="no mmul"):
        check_kernel(spec, device("npu1"))


def test_weights_lie_transposed_in_their_tiles() -> None:
    spec, w = SPECS[0], np.arange(24 * 32, dtype=np.uint16).reshape(24, 32)
    flat = pack_w(w, spec)
    np.testing.assert_array_equal(flat[:64].reshape(8, 8), w[:8, :8].T)
    np.testing.assert_array_equal(unpack_w(flat, spec), w)
    turned = replace(spec, turned=True)
    np.testing.assert_array_equal(pack_w(w, turned)[:64].reshape(8, 8), w[:8, :8])
    np.testing.assert_array_equal(unpack_w(pack_w(w, turned), turned), w)


def test_tiles_that_are_turned_take_no_longer() -> None:
    """Shuffles have the move slot, which widens their halves as well."""
    plain, turned = (
        schedule_call(kernel_of(kernel(turned=t)), ARRAY.architecture, 32, 4096, 32)
        for t in (False, True)
    )
    assert turned.body <= plain.body
