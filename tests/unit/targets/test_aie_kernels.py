"""What generated kernels are, before any of them is compiled: rules, layouts, counts."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from match_aie.codegen import render_template
from match_aie.errors import TargetError
from match_aie.targets.aie_ml import Tiling, device
from match_aie.targets.aie_ml.devices import Port
from match_aie.targets.aie_ml.kernels.call import LayerCall
from match_aie.targets.aie_ml.kernels.fit import check_kernel, flattened, program_bytes
from match_aie.targets.aie_ml.kernels.lanes import AddSpec, MaxPoolSpec
from match_aie.targets.aie_ml.kernels.layout import folded_bias, pack_w, padded, tiled, untiled
from match_aie.targets.aie_ml.kernels.spec import KernelSpec, Requantise
from match_aie.targets.aie_ml.kernels.window import Geometry, Walk
from tests.kernel_counts import kernel_counts
from tests.kernel_reference import (
    Numbers,
    block_shapes,
    dense_reference,
    pack_image,
    pack_x,
    unpack_image,
)

VEK280 = device("vek280")
I8 = Tiling(4, 8, 8, native=True)
SPEC = KernelSpec("int8", "int8", I8, 2, 2, 8, 64, 16, Requantise("shift", "int8"))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"m": 12}, "m = 12 of a kernel call is not a multiple of 8"),
        ({"k": 60}, "k = 60 of a kernel call is not a multiple of 8"),
        ({"n": 0}, "n = 0 of a kernel call is not a multiple of 16"),
        ({"a": "int7"}, "no core multiplies int7 by int8"),
        ({"position": "middle"}, "starts from the cascade, not from a bias"),
        ({"requantise": Requantise("none", "float32")}, "sums of int8 are not stored as float32"),
        ({"operation": "multiply"}, "lane by lane kernels gather integers"),
        ({"bias": False, "row_bias": True}, "a bias by rows needs an integer bias"),
        (
            {"bias": False, "requantise": Requantise("shift", "int8", zero_point=1)},
            "an output zero point needs a bias to travel in",
        ),
        (
            {"tiling": Tiling(1, 16, 8, native=False), "rows": 1, "columns": 1},
            "tiles of 1x8 int8 are too short to store",
        ),
    ],
)
def test_kernels_that_are_refused(change, message) -> None:
    with pytest.raises(TargetError, match=message):
        replace(SPEC, **change)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Requantise("shift", "int32"), "form 'shift' does not store int32"),
        (lambda: Requantise("none", "int8"), "form 'none' does not store int8"),
        (lambda: Requantise("shift", "int4"), "no core stores 'int4'"),
        (lambda: Requantise("shift", "int8", rounding="up"), "no core rounds 'up'"),
        (lambda: Requantise("none", "int32", zero_point=1), "without a zero point"),
        (lambda: Requantise("shift", "int8", addend="tensor"), "an addend follows"),
        (lambda: AddSpec("int32", "int8"), "no sum of int32"),
        (lambda: MaxPoolSpec("int8", m=3), "no vector"),
        (lambda: LayerCall("f", "f.h", SPEC, origins=(1,)), "reads 0 origins, not 1"),
    ],
)
def test_parts_that_are_refused(make, message) -> None:
    with pytest.raises(TargetError, match=message):
        make()


def test_a_tiling_that_the_device_lacks() -> None:
    with pytest.raises(TargetError, match="vek280 has no mmul 8x8x2 for int8xint8"):
        check_kernel(replace(SPEC, tiling=Tiling(8, 8, 2, native=True), m=16), VEK280)


def test_blocks_that_do_not_fit_the_accumulators() -> None:
    with pytest.raises(TargetError, match="two blocks of 4x2 accumulators need 16384 bits"):
        check_kernel(replace(SPEC, rows=4, m=16), VEK280)
    arch = device("npu2").architecture
    unknown = replace(arch.core, accumulators=None)
    npu2 = replace(device("npu2"), architecture=replace(arch, core=unknown))
    with pytest.raises(TargetError, match="number of accumulators of npu2 is not known"):
        check_kernel(replace(SPEC, tiling=Tiling(8, 8, 8, native=True), rows=1, columns=1), npu2)


@pytest.mark.parametrize(
    ("types", "requantise", "message"),
    [
        ("int8", Requantise("tensor", "int8"), "requantise by a shift alone"),
        (
            "int8",
            Requantise("shift", "int8", rounding="symmetric_ceil"),
            "a core of vck190 has no rounding symmetric_ceil",
        ),
        ("int32", Requantise("none", "int32"), "sum in 48 bits"),
        ("int8", Requantise("shift", "int8"), None),
    ],
)
def test_what_the_headers_for_aie_do_not_compile(types, requantise, message) -> None:
    vck190 = device("vck190")
    t = next(t for t in vck190.architecture.core.tilings_of(types, types) if t.m * t.n > 7)
    spec = KernelSpec(types, types, t, 1, 1, t.m, t.k, t.n, requantise)
    if message is None:
        return check_kernel(spec, vck190)
    with pytest.raises(TargetError, match=message):
        check_kernel(spec, vck190)
    return None


def test_unaligned_tiles_are_one_load_at_most() -> None:
    wide = Tiling(8, 1, 8, native=False)
    lanes = replace(SPEC, a="int32", operation="sum", gathered=True, tiling=wide, m=16, k=9, n=16)
    with pytest.raises(TargetError, match="tiles of 256 bytes: 128 at most"):
        check_kernel(lanes, VEK280)


def test_program_memory_is_estimated() -> None:
    """Four copies of 8 unrolled steps of 4 products and a loop, 16 bytes a bundle."""
    many = replace(SPEC, m=64, n=64)
    assert program_bytes(many, VEK280) == (4 * (8 * 4 + 4 + 7 + 5) + 4 * (4 + 5)) * 16
    assert program_bytes(replace(SPEC, m=8, n=16), VEK280) < program_bytes(many, VEK280)
    large = KernelSpec(
        "bfloat16",
        "bfloat16",
        Tiling(8, 8, 8, native=False),
        4,
        4,
        96,
        64,
        96,
        Requantise("none", "bfloat16"),
    )
    roomy = replace(
        VEK280.architecture.core, accumulators=Port(99, 2048), program_memory_bytes=16384
    )
    device_ = replace(VEK280, architecture=replace(VEK280.architecture, core=roomy))
    with pytest.raises(TargetError, match="bytes of program memory"):
        check_kernel(large, device_)


def test_flat_where_the_program_memory_holds_it() -> None:
    """Four copies of all steps; the number of steps is part of the source."""
    many = replace(SPEC, m=64, k=224, n=64)
    flat = flattened(many, VEK280)
    assert flat.flat
    assert program_bytes(flat, VEK280) == (4 * (28 * 4 + 7 + 5) + 4 * (4 + 5)) * 16
    assert flat.family == f"{many.family}_k28"
    assert flat.rest_steps == 28 - 8
    text = render_template(flat.template, k=flat)
    assert "constexpr unsigned k_steps = 28;" in text
    assert "steps<20>(c, at, call);" in text
    assert "k < call.k_steps" not in text
    assert not flattened(replace(many, k=1024), VEK280).flat
    assert not flattened(many, VEK280, room=8000).flat


def test_best_blocks() -> None:
    """Two by two for int8: six words loaded for four products, as the vendor's tutorials do."""
    core = VEK280.architecture.core
    assert block_shapes("int8", "int8", I8, core)[0] == (2, 2)
    assert (9, 1) not in block_shapes("int8", "int8", I8, core)
    assert block_shapes("int8", "int8", I8, replace(core, accumulators=None)) == ()


def test_counts_of_the_published_block() -> None:
    """K = 128: 64 products; 64 words of weights, 32 of activations, 16 of bias; 4 stores."""
    spec = replace(SPEC, k=128)
    counts = kernel_counts(spec, VEK280.architecture.core)
    assert (counts.vmac, counts.load, counts.store) == (64, 64 + 32 + 16, 4)


def test_instructions_of_shapes_that_are_not_native() -> None:
    core = VEK280.architecture.core
    assert core.instructions("int8", "int8", Tiling(8, 8, 4, native=False)) == 2
    assert core.instructions("int8", "int8", Tiling(4, 16, 8, native=False)) == 2
    assert core.instructions("float64", "int8", I8) is None


@given(st.integers(1, 5), st.integers(1, 5), st.integers(1, 6), st.integers(1, 6))
def test_tiles_and_back(high, wide, rows, columns) -> None:
    matrix = np.arange(high * rows * wide * columns).reshape(high * rows, wide * columns)
    flat = tiled(matrix, rows, columns)
    np.testing.assert_array_equal(untiled(flat, matrix.shape, rows, columns), matrix)
    np.testing.assert_array_equal(
        flat[: rows * columns].reshape(rows, columns), matrix[:rows, :columns]
    )


def test_weights_are_k_tile_major() -> None:
    w = np.arange(16 * 24).reshape(16, 24)
    packed = pack_w(w, replace(SPEC, k=16, n=32)).reshape(2, 4, 8, 8)
    np.testing.assert_array_equal(packed[1, 2], w[8:16, 16:24])
    assert not packed[:, 3].any()


def test_operands_larger_than_the_call_are_refused() -> None:
    with pytest.raises(TargetError, match="does not fit 8 x 64"):
        pack_x(np.zeros((9, 64), np.int8), SPEC)
    assert padded(np.ones((1, 2)), 2, 3).sum() == 2


@given(
    st.integers(1, 20),
    st.integers(1, 9),
    st.integers(1, 9),
    st.integers(1, 3),
    st.integers(1, 5),
)
def test_images_survive_the_layout(channels, height, width, stride, rows) -> None:
    """A 1x1 window: what goes in as an image comes out, every stride-th pixel of it."""
    g = Geometry(channels, height, width, channels, stride=(stride, stride))
    walk = Walk(g, Tiling(4, 1, 8, native=False), rows, apart=True)
    x = np.arange(height * width * channels).reshape(height, width, channels)
    blocks, high, phases, columns, lanes = walk.shape
    whole = pack_image(x, walk).reshape(blocks, high, phases, columns, lanes)
    seen = whole[:, ::stride, 0].reshape(blocks, -1, columns, lanes)
    tiles = np.zeros((blocks, walk.m, lanes), x.dtype)
    pixels = seen[:, : g.out_height, : walk.tiles_per_row * 4].reshape(blocks, -1, lanes)
    tiles[:, : pixels.shape[1]] = pixels
    np.testing.assert_array_equal(unpack_image(tiles.reshape(-1), walk), x[::stride, ::stride])


def test_zero_points_in_the_bias() -> None:
    w = np.array([[1, -2], [3, 4]])
    folded = folded_bias(np.array([10, 20]), w, x_zero_point=5, y_zero_point=3, shift=4)
    assert folded.tolist() == [10 - 5 * 4 + 48, 20 - 5 * 2 + 48]
    with pytest.raises(TargetError, match="leaves int32"):
        folded_bias(np.array([0]), w[:, :1], 0, y_zero_point=100, shift=30)


def test_reference_needs_its_numbers() -> None:
    x, w = np.zeros((8, 64), np.int8), np.zeros((64, 16), np.int8)
    with pytest.raises(TargetError, match="needs a bias"):
        dense_reference(SPEC, x, w, Numbers())
    scaled = replace(SPEC, bias=False, requantise=Requantise("tensor", "int8"))
    with pytest.raises(TargetError, match="needs a multiplier"):
        dense_reference(scaled, x, w, Numbers())
    with pytest.raises(TargetError, match="a first kernel stores nothing"):
        dense_reference(replace(SPEC, position="first"), x, w, Numbers())


def test_a_template_that_fails_is_named() -> None:
    with pytest.raises(TargetError, match=r"template aie/kernel\.hpp\.mako, line 2"):
        render_template("aie/kernel.hpp.mako")
    with pytest.raises(TargetError, match=r"no layer template 'aie/nothing\.mako'"):
        render_template("aie/nothing.mako")
