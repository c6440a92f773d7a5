"""Kernels whose tiles are made lane by lane (npu2's bfloat16), against numpy bit for bit."""

from dataclasses import replace

import numpy as np
import pytest
from aie_harness import COMPILERS, build_kernels, check, resized

from match_aie.errors import TargetError
from match_aie.targets.aie_ml import Tiling, device
from match_aie.targets.aie_ml.emulation import ARCH_MACRO
from match_aie.targets.aie_ml.kernels.fit import check_kernel, flattened
from match_aie.targets.aie_ml.kernels.spec import KernelSpec, Requantise
from match_aie.targets.aie_ml.schedule.call import schedule_call
from match_aie.targets.aie_ml.schedule.generated import kernel_of, schedule_of
from match_aie.targets.aie_ml.schedule.verify import verify
from tests.kernel_counts import emitted_counts, kernel_counts
from tests.kernel_reference import block_shapes

ARRAY = device("npu2")
CORE = ARRAY.architecture.core
TILINGS = [t for t in CORE.tilings_of("bfloat16", "bfloat16") if t.lanes]


def kernel(tiling, position="only", out="bfloat16", **more):
    """Two rows and two columns of blocks, three steps."""
    return KernelSpec(
        "bfloat16",
        "bfloat16",
        tiling,
        1,
        1,
        64 if more.get("upright") else 2 * tiling.m,
        3 * tiling.k,
        2 * tiling.n,
        Requantise("none", out),
        position,
        bias=more.pop("bias", position in ("only", "first")),
        **more,
    )


SPECS = [
    spec
    for tiling in TILINGS
    for spec in (
        kernel(tiling, relu=True),
        kernel(tiling, "first"),
        kernel(tiling, "middle"),
        kernel(tiling, "last", relu=True),
        kernel(tiling, bias=False),
        kernel(tiling, out="float32", relu=True),
        kernel(tiling, bias=False, resumes=True),
        kernel(tiling, "first", bias=False, resumes=True),
        kernel(tiling, bias=False, resumes=True, out="float32", upright=True),
    )
]


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if "g++" not in COMPILERS:
        pytest.skip("not installed: g++")
    macro = f"-D__AIE_ARCH__={ARCH_MACRO[ARRAY.architecture.name]}"
    return build_kernels(SPECS, tmp_path_factory.mktemp("laned"), None, ("-O0", macro))


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.family)
def test_results_and_counts(library, spec) -> None:
    rng = np.random.default_rng(len(spec.family))
    check_kernel(spec, ARRAY)
    for m, k, n in ((1, 1, 1), (7, 33, 129), (16, 64, 65), (13, 100, 300)):
        changed = resized(spec, 64 if spec.upright else m, k, n)
        counted = kernel_counts(changed, CORE)
        assert check(library, changed, rng).counters == vars(counted)
        assert emitted_counts(schedule_of(changed, ARRAY.architecture)) == counted


@pytest.mark.parametrize("spec", SPECS, ids=lambda spec: spec.family)
def test_schedules_hold(spec) -> None:
    made = schedule_of(resized(spec, 64, 128, 256), ARRAY.architecture)
    for part in made.parts:
        for blocks in (1, 2, 3, 5):
            verify(part.schedule, kernel_of(spec), made.core, blocks)


@pytest.mark.parametrize("tiling", TILINGS)
def test_products_have_all_slots_in_long_sums(tiling) -> None:
    """An element is repeated for two products: the move slot is as busy as they are."""
    made = schedule_call(kernel_of(kernel(tiling)), ARRAY.architecture, 32, 512, 512)
    assert 0.95 < made.efficiency < 1.0
    assert block_shapes("bfloat16", "bfloat16", tiling, CORE) == ((1, 1),)


def test_what_lanes_do_not_have_is_refused() -> None:
    spec = SPECS[0]
    assert flattened(spec, ARRAY) == spec
    with pytest.raises(TargetError, match="steps in a loop"):
        kernel(TILINGS[0], flat=True)
    with pytest.raises(TargetError, match="no vectors of 64 lanes"):
        Tiling(3, 8, 64, native=False, lanes=32)
    with pytest.raises(TargetError, match="one a block"):
        replace(spec, columns=2)
