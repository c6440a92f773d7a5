"""Workloads in the kernels' fixed point: emitted code equals the core's reference."""

from dataclasses import replace

import numpy as np
import pytest
from aie_harness import COMPILERS, border_biases, build_kernels, call, call_on, resized

from match_aie.errors import TargetError
from match_aie.targets.aie_ml import Tiling
from match_aie.targets.aie_ml.kernels.arithmetic import add_kernel, epilogue, in_fixed_point
from match_aie.targets.aie_ml.kernels.lanes import add_reference
from match_aie.targets.aie_ml.kernels.layout import folded_bias
from match_aie.targets.aie_ml.kernels.spec import KernelSpec, Requantise
from match_aie.targets.aie_ml.kernels.window import Geometry, Walk, offsets, origins, pack_filter
from match_aie.workload import (
    Converted,
    Quantized,
    Tail,
    Window,
    conv2d,
    dense,
    elementwise,
    full_range,
    pool2d,
    reference,
)
from tests.kernel_reference import Numbers, pack_image, unpack_image, unpack_y

I8 = Tiling(4, 8, 8, native=True)
LANES = Tiling(4, 1, 8, native=False)
U8, S8 = Quantized("uint8", 0.02, 128), Quantized("int8", 0.05, -3)
POW2, POW2_OUT = Quantized("int8", 2.0**-6, 0), Quantized("int8", 2.0**-4, 0)
CHANNEL = Requantise("channel", "uint8", addend="channel")
FAMILIES = {
    "dense": KernelSpec("uint8", "int8", I8, 2, 2, 8, 64, 16, CHANNEL),
    "dense pow2": KernelSpec("int8", "int8", I8, 2, 2, 8, 64, 16, Requantise("shift", "int8")),
    "conv": KernelSpec(
        "uint8", "int8", I8, 2, 2, 8, 72, 16, CHANNEL, gathered=True, border_bias=True
    ),
    "depthwise": KernelSpec(
        "uint8",
        "int8",
        LANES,
        4,
        1,
        16,
        9,
        8,
        CHANNEL,
        operation="multiply",
        gathered=True,
        border_bias=True,
    ),
    "average": KernelSpec(
        "uint8",
        "int8",
        LANES,
        1,
        1,
        4,
        9,
        8,
        Requantise("tensor", "uint8", addend="tensor"),
        bias=False,
        operation="sum",
        gathered=True,
    ),
}


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    if "g++" not in COMPILERS:
        pytest.skip("not installed: g++")
    return build_kernels(FAMILIES.values(), tmp_path_factory.mktemp("arithmetic"))


def random_constants(workload, rng):
    values = {}
    for operand in workload.constants:
        if operand.name == "weight":
            values["weight"] = rng.integers(-128, 128, operand.shape).astype(np.int8)
        elif operand.name == "bias":
            values["bias"] = rng.integers(-9000, 9000, operand.shape).astype(np.int32)
        else:
            values["scale"] = rng.uniform(0.0005, 0.003, operand.shape).astype(np.float32)
    return values


def random_input(operand, rng):
    info = np.iinfo(operand.dtype)
    return rng.integers(info.min, info.max + 1, operand.shape).astype(operand.dtype)


def in_kernel(workload, constants):
    """The workload in fixed point, its constants, and the kernel's epilogue."""
    converted = in_fixed_point(workload, constants)
    assert isinstance(converted, Converted), converted
    return converted, epilogue(converted.workload, converted.constants)


def near_the_model(workload, converted, inputs, constants, fixed) -> None:
    """No stored integer is further from the model's own than the proven bound says."""
    model = reference(workload, inputs, constants).astype(int)
    assert np.abs(model - fixed).max() <= np.floor(converted.error_lsb) + 1
    if converted.error_lsb == 0:
        np.testing.assert_array_equal(model, fixed)


@pytest.mark.parametrize("shape", [(1, 64, 10), (13, 77, 29), (32, 128, 48)])
@pytest.mark.parametrize("name", ["dense", "dense pow2"])
def test_dense(library, name, shape) -> None:
    rng, (rows, inputs, outputs) = np.random.default_rng(shape[1]), shape
    pow2 = name == "dense pow2"
    x, y = (POW2, POW2_OUT) if pow2 else (U8, replace(U8, scale=0.03, zero_point=100))
    tail = full_range(y.dtype, y.zero_point)
    sizes = {"rows": rows, "inputs": inputs, "outputs": outputs}
    workload = dense(x, y, **sizes, tail=tail, scales=1 if pow2 else outputs)
    constants = random_constants(workload, rng)
    if pow2:
        constants["scale"][:] = 2.0**-9
    image = random_input(workload.inputs[0], rng)
    converted, end = in_kernel(workload, constants)
    spec = resized(FAMILIES[name], rows, inputs, outputs)
    assert end.requantise == spec.requantise
    w = constants["weight"].T
    bias = folded_bias(np.broadcast_to(end.bias, outputs), w, x.zero_point)
    numbers = Numbers(end.shift, end.multiplier, end.addend, bias)
    stored = unpack_y(call(library, spec, image, w, numbers).stored, spec)[:rows, :outputs]
    fixed = reference(converted.workload, [image], converted.constants)
    np.testing.assert_array_equal(stored, fixed)
    near_the_model(workload, converted, [image], constants, fixed.astype(int))
    assert not pow2 or converted.error_lsb == 0


@pytest.mark.parametrize("name", ["conv", "depthwise"])
def test_convolutions(library, name) -> None:
    """Zero points and padding: the borders' biases make what centred sums mean."""
    rng, apart = np.random.default_rng(3), name == "depthwise"
    channels, outputs = (20, 20) if apart else (11, 24)
    window = Window(stride=(2, 1), padding=(1, 1, 1, 1))
    y = replace(U8, scale=0.03, zero_point=100)
    workload = conv2d(
        U8,
        y,
        shape=(1, 9, 8, channels),
        weight_shape=(outputs, 3, 3, 1 if apart else channels),
        groups=channels if apart else 1,
        window=window,
        tail=Tail(100, 100, 240),
        scales=outputs,
    )
    constants = random_constants(workload, rng)
    image = random_input(workload.inputs[0], rng)
    converted, end = in_kernel(workload, constants)
    g = Geometry(channels, 9, 8, outputs, (3, 3), window.stride, (1, 1), window.padding)
    walk = Walk(g, FAMILIES[name].tiling, FAMILIES[name].rows, FAMILIES[name].columns, apart=apart)
    spec = replace(FAMILIES[name], m=walk.m, k=walk.k, n=walk.n)
    assert end.requantise == replace(spec.requantise, lo=100, hi=240)
    zeros = np.broadcast_to(end.bias, outputs)
    biases, bias_of = border_biases(zeros, constants["weight"], 128, walk)
    arrays = {
        "x": pack_image(image[0], walk),
        "w": pack_filter(constants["weight"], walk),
        "origins": origins(walk),
        "offsets": offsets(walk),
        "bias": biases,
        "bias_of": bias_of,
    }
    numbers = Numbers(end.shift, end.multiplier, end.addend)
    tile = spec.tiling.m * spec.tiling.n
    steps = (tile, spec.m * spec.tiling.n, walk.block_pitch)
    stored = unpack_image(call_on(library, spec, arrays, numbers, *steps).stored, walk)
    fixed = reference(converted.workload, [image], converted.constants)
    np.testing.assert_array_equal(np.clip(stored, 100, 240), fixed[0])
    near_the_model(workload, converted, [image], constants, fixed.astype(int))


def test_average_pool(library) -> None:
    rng = np.random.default_rng(4)
    y = replace(U8, scale=0.025, zero_point=120)
    tail = full_range("uint8", 120)
    shape = (1, 9, 9, 12)
    sliding = Window(stride=(3, 3))
    workload = pool2d(
        "avg_pool2d", U8, y, shape=shape, filter_shape=(3, 3), window=sliding, tail=tail
    )
    image = random_input(workload.inputs[0], rng)
    converted, end = in_kernel(workload, {})
    assert end.requantise == FAMILIES["average"].requantise
    walk = Walk(Geometry(12, 9, 9, 12, (3, 3), (3, 3)), LANES, 1, apart=True)
    spec = replace(FAMILIES["average"], m=walk.m, k=walk.k, n=walk.n)
    tables = {"origins": origins(walk), "offsets": offsets(walk)}
    steps = (32, spec.m * 8, walk.block_pitch)
    numbers = Numbers(end.shift, end.multiplier, end.addend)
    arrays = {"x": pack_image(image[0], walk), **tables}
    outcome = call_on(library, spec, arrays, numbers, *steps)
    fixed = reference(converted.workload, [image], converted.constants)
    np.testing.assert_array_equal(unpack_image(outcome.stored, walk), fixed[0])
    near_the_model(workload, converted, [image], {}, fixed.astype(int))


def test_add_means_what_the_core_says() -> None:
    """`test_lanes` compares the same reference with emitted code."""
    rng, shape = np.random.default_rng(5), (1, 4, 5, 16)
    other = replace(U8, scale=0.011, zero_point=7)
    y = replace(U8, scale=0.03, zero_point=90)
    tail = Tail(90, 90, 255)
    workload = elementwise("add", U8, other, y, shape=shape, shape1=shape, out=shape, tail=tail)
    inputs = [random_input(operand, rng) for operand in workload.inputs]
    converted = in_fixed_point(workload, {})
    assert isinstance(converted, Converted), converted
    spec, numbers = add_kernel(converted.workload, converted.constants)
    fixed = reference(converted.workload, inputs, converted.constants)
    np.testing.assert_array_equal(add_reference(spec, *inputs, numbers), fixed)
    near_the_model(workload, converted, inputs, {}, fixed.astype(int))


def test_workloads_in_another_arithmetic_are_refused() -> None:
    workload = dense(U8, S8, rows=1, inputs=8, outputs=8, tail=full_range("int8", -3), scales=8)
    with pytest.raises(TargetError, match="not in the fixed point of its kernel"):
        epilogue(workload, random_constants(workload, np.random.default_rng(0)))
