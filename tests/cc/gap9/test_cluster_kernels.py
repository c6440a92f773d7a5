"""The cluster's kernels equal the reference bit for bit, on tiles of any layer."""

import subprocess
from dataclasses import replace

import numpy as np
import pytest
from cluster_harness import (
    COMMON,
    COMPILERS,
    FLAGS,
    RUNTIME,
    SANITIZERS,
    XPULP,
    Case,
    build,
    check,
    whole,
)
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from workload_cases import (
    arrays,
    conv2ds,
    converts,
    denses,
    elementwises,
    matmuls,
    pools,
    quantized,
    softmaxes,
)

from match_aie.cost_models.pulp_half import is_half
from match_aie.targets.gap9.cluster.float_patterns import refuses_real
from match_aie.targets.gap9.cluster.module import SHORT, Cluster
from match_aie.workload import (
    ROW_KINDS,
    Quantized,
    Tail,
    Window,
    conv2d,
    dense,
    elementwise,
    fixed_norm,
    fixed_softmax,
    full_range,
    in_8_bits,
    matmul,
    permute,
    quantised_norm,
    recurrent,
    refuses_short_products,
    rowwise,
    stored_as,
    table,
    with_fixed_tail,
)
from tests.cc.real import real_cases
from tests.thinned import thinned

pytestmark = pytest.mark.skipif(not COMPILERS, reason="no gcc and no clang")

MANY = settings(
    max_examples=8,
    deadline=None,
    derandomize=True,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def runs(workload):
    """What the kernels are for; the module's patterns state the same."""
    d = workload.sizes
    if is_half(workload):
        grouped = workload.kind == "conv2d" and d["G"] > 1
        return (
            workload.tail is not None
            and (workload.depthwise or not grouped)
            and (not grouped or d["K"] == 1)
        )
    narrow = all(o.dtype != "int16" and o.dtype != "uint16" for o in workload.operands)
    plain = d["G"] == 1 or workload.kind != "conv2d" or (workload.depthwise and d["K"] == 1)
    shapes = {o.shape for o in (*workload.inputs, workload.output)}
    # One row that is repeated is what the elements' structure says of operands that are broadcast.
    rows = {shape for shape in shapes if shape != workload.output.shape}
    equal = not rows or (
        all(shape[:-1] == (1, 1, 1) and shape[-1] == workload.output.shape[-1] for shape in rows)
        and any(o.shape == workload.output.shape for o in workload.inputs)
    )
    equal = equal or workload.kind not in ("add", "mul")
    wide = workload.kind == "dequantize" and workload.operand("x").dtype == "int32"
    sums = workload.kind == "matmul" and workload.tail is None
    return narrow and plain and equal and not wide and not sums


def fixed(workload, seed):
    """(workload, arrays) requantised in fixed point, of numbers that never leave 32 bits.

    None where a sum of 16-bit inputs might.
    """
    rng = np.random.default_rng(seed)
    inputs, constants = arrays(workload, seed)
    y, tail = workload.output, workload.tail
    if is_half(workload):
        made = Cluster().convert(workload, constants)
        kept = isinstance(made, str)
        return None if kept else (made.workload, inputs, dict(made.constants))
    if workload.kind == "softmax":
        made = fixed_softmax(workload, int(rng.choice([32, 64])), "half_up")
        kept = rng.random() < 0.25 or isinstance(made, str)
        return (workload, inputs, constants) if kept else (made.workload, inputs, made.constants)
    real = workload.kind == "avg_pool2d" and workload.tail.rounding == "half_even"
    if workload.kind == "layer_norm":
        made = fixed_norm(workload, constants)
        return made.workload, inputs, dict(made.constants)
    sums = ("conv2d", "dense", "add", "mul", "matmul")
    if workload.kind not in sums and not (real and rng.random() < 0.5):
        return workload, inputs, constants
    channels = y.shape[-1] if workload.kind in ("conv2d", "dense") else 1
    if tail is None:
        return workload, inputs, constants
    terms = workload.sizes["C"] * workload.sizes["FY"] * workload.sizes["FX"]
    factor = 255 if workload.kind in ("mul", "matmul") else 128
    shift = int(rng.integers(0, 20))
    changed = with_fixed_tail(
        workload,
        Tail(0, tail.lo, tail.hi, "floor", shift),
        multiplier=2 if workload.kind == "add" else channels,
        offset=channels,
        bias=bool(rng.random() < 0.5),
    )
    most = min(2**15, 2**29 // (255 * factor * terms + 2**13))
    size = 2 if workload.kind == "add" else channels
    kept = {o.name: constants[o.name] for o in changed.constants if o.name in constants}
    kept["multiplier"] = rng.integers(1, most, size, endpoint=True).astype(np.int32)
    kept["offset"] = rng.integers(-(2**29), 2**29, channels).astype(np.int32)
    return changed, inputs, kept


@st.composite
def tiles(draw, workload):
    """(start, length) of every dimension: reductions whole, the others any part."""
    found = {}
    for dim, size in workload.dims:
        start = 0 if dim in workload.reductions else draw(st.integers(0, size - 1))
        whole = dim in workload.reductions or (workload.kind in ROW_KINDS and dim == "K")
        start = 0 if whole else start
        found[dim] = (start, size - start if whole else draw(st.integers(1, size - start)))
    return found


@st.composite
def batches(draw, strategy):
    """Tiles of many layers; what the kernels are not for is left out, not drawn again."""
    found = []
    for workload in draw(st.lists(strategy, min_size=25, max_size=25)):
        known = runs(workload) and fixed(workload, draw(st.integers(0, 2**32 - 1)))
        if known:
            workload, inputs, constants = known
            ranges, loose = draw(tiles(workload)), draw(st.booleans())
            found.append(Case(workload, inputs, constants, ranges, loose))
    return found


@st.composite
def norms(draw):
    x, y = draw(quantized()), draw(quantized())
    x, y = replace(x, scale=draw(st.floats(0.01, 0.2))), replace(y, scale=0.03)
    columns = draw(st.sampled_from([1, 2, 3, 7, 32, 65]))
    tail = full_range(y.dtype, y.zero_point)
    rows = draw(st.integers(1, 20))
    return quantised_norm(
        x, y, rows=rows, columns=columns, epsilon=1e-5, tail=tail, kind="layer_norm"
    )


@st.composite
def tabulated(draw):
    return table(draw(quantized()), draw(quantized()), elements=draw(st.integers(1, 300)))


@st.composite
def permutations(draw):
    shape = draw(st.tuples(*[st.sampled_from([1, 2, 3, 4, 5, 9, 16])] * 4))
    return permute(draw(quantized()), shape=shape, axes=draw(st.permutations(range(4))))


@st.composite
def halves(draw):
    """Convolutions and dense layers of 16-bit inputs, with results of 8 or 16 bits."""
    workload = draw(st.one_of(conv2ds(), denses()))
    if workload.tail is None:
        return workload
    x = draw(quantized(st.sampled_from(["int16", "uint16"])))
    y = draw(quantized(st.sampled_from(["int16", "uint16", "int8"])))
    operands = list(workload.operands)
    at = [o.name for o in operands].index("x")
    given = {"scale": x.scale, "zero_point": x.zero_point}
    operands[at] = replace(operands[at], dtype=x.dtype, **given)
    operands[-1] = replace(operands[-1], dtype=y.dtype, scale=y.scale, zero_point=y.zero_point)
    tail = full_range(y.dtype, y.zero_point)
    return replace(workload, operands=tuple(operands), tail=tail)


KINDS = {
    "halves": halves(),
    "conv2d": conv2ds(),
    "dense": denses(),
    "pool": pools(),
    "rows": st.one_of(norms(), tabulated()),
    "products": matmuls(),
    "permutations": permutations(),
    "pointwise": st.one_of(elementwises(), softmaxes(), converts()),
}


#: Compilers and paths; by default each compiler has one of them, by turns.
BUILDS = [
    f"{compiler} {kind}"
    for at, compiler in enumerate(COMPILERS)
    for kind in (("xpulp", "portable"), ("portable", "xpulp"))[at % 2]
]


@pytest.fixture(scope="module", params=thinned(BUILDS, 2))
def program(request, tmp_path_factory):
    """All kernels under the sanitizers, every operand in a heap block of its exact size.

    In portable C, or as on the chip, with an emulation of the builtins of Xpulp.
    """
    compiler, kind = request.param.split()
    flags = XPULP if kind == "xpulp" else ()
    return build(tmp_path_factory.mktemp("cluster"), compiler, *SANITIZERS, *flags)


@pytest.mark.parametrize("kind", KINDS)
def test_equals_reference(kind, program):
    @MANY
    @given(batches(KINDS[kind]))
    def holds(batch):
        check(program, batch)

    holds()


X = Quantized("uint8", 0.1, 124)
Z = Quantized("int8", 0.1, -7)
SAME = Window(padding=(1, 1, 1, 1))


def made(workload, seed=0):
    return whole(*fixed(workload, seed))


WIDE = {
    "first": conv2d(
        X, Z, shape=(1, 17, 19, 3), weight_shape=(18, 3, 3, 3), scales=18,
        window=Window((2, 2), padding=(0, 0, 1, 1)), tail=full_range("int8", -7),
    ),
    "deep": conv2d(
        Z, X, shape=(1, 3, 3, 64), weight_shape=(35, 3, 3, 64), scales=35, window=SAME,
        tail=full_range("uint8", 124),
    ),
    "point": conv2d(
        X, X, shape=(2, 5, 5, 32), weight_shape=(16, 1, 1, 32), scales=16,
        tail=full_range("uint8", 124),
    ),
    "point_stride": conv2d(
        X, X, shape=(1, 8, 8, 16), weight_shape=(32, 1, 1, 16), scales=32,
        window=Window((2, 2)), tail=full_range("uint8", 124),
    ),
    "keyword": conv2d(
        Z, Z, shape=(1, 49, 10, 1), weight_shape=(8, 10, 4, 1), scales=8,
        window=Window((2, 2), padding=(4, 1, 5, 1)), tail=full_range("int8", -7),
    ),
    "padding wider than the filter": conv2d(
        X, X, shape=(1, 3, 3, 4), weight_shape=(6, 1, 1, 4), scales=6,
        window=Window(padding=(2, 3, 2, 3)), tail=full_range("uint8", 124),
    ),
    "much padding, odd channels": conv2d(
        Z, Z, shape=(1, 4, 2, 7), weight_shape=(5, 3, 3, 7), scales=5,
        window=Window(padding=(4, 5, 4, 6)), tail=full_range("int8", -7),
    ),
    "depthwise": conv2d(
        X, X, shape=(1, 11, 12, 22), weight_shape=(22, 3, 3, 1), groups=22, scales=22,
        window=SAME, tail=full_range("uint8", 124),
    ),
    "depthwise_stride": conv2d(
        Z, Z, shape=(1, 11, 12, 16), weight_shape=(16, 3, 3, 1), groups=16, scales=16,
        window=Window((2, 2), padding=(0, 0, 1, 1)), tail=full_range("int8", -7),
    ),
    "depthwise_tall": conv2d(
        X, X, shape=(1, 12, 9, 5), weight_shape=(5, 7, 5, 1), groups=5, scales=5,
        window=Window(padding=(3, 2, 3, 2)), tail=full_range("uint8", 124),
    ),
    "five columns, stride": conv2d(
        Z, Z, shape=(1, 11, 12, 7), weight_shape=(7, 5, 5, 1), groups=7, scales=7,
        window=Window((2, 2), padding=(1, 2, 2, 1)), tail=full_range("int8", -7),
    ),
    "five columns, eight rows that are apart": conv2d(
        X, Z, shape=(1, 17, 6, 9), weight_shape=(9, 8, 5, 1), groups=9, scales=9,
        window=Window((1, 3), (2, 1), padding=(3, 4, 4, 0)), tail=full_range("int8", -7),
    ),
    "five columns, rows of four, and two left": conv2d(
        X, Z, shape=(1, 10, 13, 11), weight_shape=(11, 5, 5, 1), groups=11, scales=11,
        window=Window(padding=(2, 2, 2, 2)), tail=full_range("int8", -7),
    ),
    "five columns, rows of two, three apart": conv2d(
        Z, X, shape=(2, 17, 9, 6), weight_shape=(6, 5, 5, 1), groups=6, scales=6,
        window=Window((3, 1), padding=(2, 1, 2, 3)), tail=full_range("uint8", 0),
    ),
    "five columns of six rows": conv2d(
        X, X, shape=(1, 9, 8, 9), weight_shape=(9, 6, 5, 1), groups=9, scales=9,
        window=Window((1, 2), padding=(3, 2, 2, 2)), tail=full_range("uint8", 124),
    ),
    "three columns of one row": conv2d(
        X, Z, shape=(1, 7, 9, 5), weight_shape=(5, 1, 3, 1), groups=5, scales=5,
        window=Window((2, 1), padding=(0, 1, 0, 1)), tail=full_range("int8", -7),
    ),
    "five columns that are apart": conv2d(
        X, X, shape=(1, 7, 12, 4), weight_shape=(4, 5, 5, 1), groups=4, scales=4,
        window=Window((1, 1), (1, 2), padding=(2, 4, 2, 4)), tail=full_range("uint8", 124),
    ),
    "dense": dense(
        X, Z, rows=1, inputs=637, outputs=131, scales=131, tail=full_range("int8", -7)
    ),
    "products": matmul(
        X, Z, Z, batch=2, rows=17, inner=45, columns=22, tail=full_range("int8", -7)
    ),
    "weighted values": matmul(
        Z, X, X, batch=3, rows=16, inner=64, columns=16, tail=full_range("uint8", 124)
    ),
    "norm": quantised_norm(
        X, Z, rows=19, columns=66, epsilon=1e-5, tail=full_range("int8", -7), kind="layer_norm"
    ),
    "shares": rowwise(
        "softmax", X, Quantized("uint8", 1 / 256, 0), rows=20, columns=131,
        tail=full_range("uint8", 0),
    ),
    "long shares": rowwise(
        "softmax", Z, Quantized("int8", 1 / 256, -128), rows=17, columns=402,
        tail=full_range("int8", -128),
    ),
    "coarse shares": rowwise(
        "softmax", Z, Quantized("int8", 0.9, 4), rows=9, columns=402, tail=full_range("int8", 4)
    ),
    "sums": dense(Z, Quantized("int32"), rows=3, inputs=128, outputs=10),
    "planes": permute(X, shape=(1, 3, 19, 22), axes=(0, 2, 3, 1)),
    "planes of few rows": permute(X, shape=(1, 3, 2, 45), axes=(0, 2, 3, 1)),
    "channels last": permute(X, shape=(1, 32, 5, 6), axes=(0, 2, 3, 1)),
    "channels first": permute(X, shape=(1, 5, 6, 32), axes=(0, 3, 1, 2)),
    "few channels first": permute(X, shape=(2, 5, 9, 10), axes=(0, 3, 1, 2)),
    "few channels first, short rows": permute(X, shape=(2, 5, 2, 10), axes=(0, 3, 1, 2)),
    "planes of a pixel": permute(X, shape=(2, 3, 1, 1), axes=(0, 2, 3, 1)),
}  # fmt: skip


def _windows():
    """Layers whose windows lie inside, across every edge, and in padding alone."""
    shapes = {
        "one pixel": ((1, 1, 1, 5), (3, 3), Window(padding=(1, 1, 1, 1))),
        "one pixel far away": ((1, 1, 1, 4), (2, 2), Window(padding=(5, 4, 5, 7))),
        "a column": ((2, 9, 1, 3), (3, 1), Window(padding=(1, 0, 1, 0))),
        "a row": ((2, 1, 13, 3), (1, 3), Window(padding=(0, 1, 0, 2))),
        "stride beyond the filter": ((1, 14, 15, 3), (2, 2), Window((5, 4), padding=(1, 3, 2, 0))),
        "stride of one axis": ((1, 7, 23, 6), (3, 3), Window((1, 3), padding=(1, 0, 0, 1))),
        "rows apart": ((1, 13, 9, 3), (3, 3), Window(dilation=(3, 1), padding=(2, 1, 4, 1))),
        "columns apart": ((1, 9, 13, 5), (3, 3), Window(dilation=(1, 3), padding=(1, 4, 1, 2))),
        "both apart": ((1, 11, 12, 2), (3, 2), Window((2, 2), (2, 4), padding=(3, 1, 5, 6))),
        "rows of one byte": ((1, 9, 8, 1), (5, 1), Window(padding=(2, 0, 2, 0))),
        "rows of three bytes": ((1, 9, 8, 1), (3, 3), Window(padding=(1, 1, 1, 1))),
        "rows of five bytes": ((1, 9, 9, 5), (3, 1), Window()),
        "rows of eight bytes": ((1, 5, 9, 2), (3, 4), Window(padding=(2, 3, 0, 0))),
        "rows of thirteen bytes": ((3, 5, 3, 13), (2, 1), Window()),
        "rows of many bytes": ((1, 5, 6, 37), (3, 3), Window(padding=(1, 1, 1, 1))),
        "filter as large as the image": ((2, 4, 5, 3), (4, 5), Window(padding=(3, 4, 3, 4))),
        "filter larger than the image": ((1, 2, 3, 3), (5, 6), Window(padding=(3, 4, 3, 4))),
    }
    made = []
    for shape, (high, wide), window in shapes.values():
        across = {"window": window, "tail": full_range("int8", -7)}
        weight = (6, high, wide, shape[-1])
        made.append(conv2d(X, Z, shape=shape, weight_shape=weight, scales=6, **across))
        deep = {"weight_shape": (shape[-1], high, wide, 1), "groups": shape[-1]}
        made.append(conv2d(X, Z, shape=shape, scales=shape[-1], **deep, **across))
    return made


WINDOWS = _windows()


@pytest.mark.parametrize("cores", [1, 4])
def test_windows_inside_and_outside_of_the_image(program, cores):
    """Whole layers, and the same from a tile's place on, which sees rows of its own."""
    whole_layers = [made(w, seed) for seed, w in enumerate(WINDOWS)]
    later = []
    for case in whole_layers:
        sizes = {dim: size for dim, (_, size) in case.ranges.items()}
        starts = {dim: min(1, sizes[dim] - 1) for dim in ("OY", "OX") if dim in sizes}
        rest = {dim: (start, sizes[dim] - start) for dim, start in starts.items()}
        later.append(replace(case, ranges=case.ranges | rest, loose=True))
    check(program, [*whole_layers, *later], cores)


@pytest.mark.parametrize("cores", [1, 2, 4, 8])
def test_layers_of_networks(program, cores):
    """Extents at which the register blocks and their remainders all run."""
    check(program, [made(w, seed) for seed, w in enumerate(WIDE.values())], cores)


def test_sums_beyond_32_bits_on_the_way(program):
    """Raw sums times the multiplier may leave 32 bits, as long as the whole comes back."""
    workload = dense(
        Quantized("uint8", 0.1, 255), X, rows=1, inputs=512, outputs=4, scales=4,
        tail=full_range("uint8", 124),
    )  # fmt: skip
    changed = with_fixed_tail(
        workload, Tail(0, 0, 255, "floor", 24), multiplier=4, offset=4, bias=False
    )
    weight = np.full((4, 512), 127, np.int8)
    constants = {
        "weight": weight,
        "multiplier": np.array([2**15] * 4, np.int32),
        "offset": np.array([0, 5, -7, 2**27], np.int32),
    }
    x = np.full((1, 512), 254, np.uint8)
    case = whole(changed, [x], constants)
    raw = 254 * int(weight[0].astype(np.int64).sum()) * 2**15
    assert raw > 2**31
    check(program, [case])


#: Of a dense layer: element type and zero point of x, inputs, element type and value of weights.
FULL = [
    ("uint16", 0, 256, "int8", -128),
    ("uint16", 65535, 256, "int8", -128),
    ("int16", -32768, 257, "int8", 127),
    ("int16", 0, 1, "int16", -32768),
]


def test_sums_of_16_bit_inputs_that_fill_32_bits(program):
    """Inputs and zero points at the ends of their range, sums as large as are taken."""
    cases = []
    for dtype, zero, inputs, weights, value in FULL:
        workload = dense(
            Quantized(dtype, 0.1, zero), Quantized("int16", 0.1, 5), rows=3, inputs=inputs,
            outputs=5, scales=5, tail=full_range("int16", 5),
        )  # fmt: skip
        operands = [
            replace(o, dtype=weights) if o.name == "weight" else o for o in workload.operands
        ]
        changed = Cluster().convert(
            replace(workload, operands=tuple(operands)),
            {
                "weight": np.full((5, inputs), value, weights),
                "bias": np.arange(5, dtype=np.int32),
                "scale": np.full(5, 1.2e-5, np.float32),
            },
        )
        assert not isinstance(changed, str), changed
        ends = np.array([np.iinfo(dtype).min, np.iinfo(dtype).max], dtype)
        x = np.stack(
            [ends[np.zeros(inputs, int)], ends[np.ones(inputs, int)], ends[np.arange(inputs) % 2]]
        )
        cases.append(whole(changed.workload, [x], dict(changed.constants)))
    check(program, cases)


CELLS = [
    (kind, reset, steps, inputs, units, x)
    for kind, reset in (("gru", True), ("gru", False), ("lstm", True))
    for steps, inputs, units, x in ((5, 13, 19, X), (3, 40, 32, Z), (2, 3, 5, X), (1, 4, 1, Z))
]


@pytest.mark.parametrize("cores", [1, 8])
def test_recurrent_layers(program, cores):
    """Bit for bit, with odd numbers of inputs and units, and states that saturate."""
    cases = []
    for seed, (kind, reset, steps, inputs, units, x) in enumerate(CELLS):
        layer = recurrent(
            kind, steps=steps, batch=1, inputs=inputs, hidden=units,
            linear_before_reset=reset, quantized=x,
        )  # fmt: skip
        rng = np.random.default_rng(seed)
        wide = 3.0 if seed % 2 else 0.6
        constants = {
            o.name: rng.normal(0, wide / np.sqrt(o.shape[-1]), o.shape).astype(np.float32)
            for o in layer.constants
        }
        made = in_8_bits(layer, constants)
        inputs = [random_bytes(rng, o) for o in layer.inputs]
        cases.append(whole(made.workload, inputs, dict(made.constants)))
    check(program, cases, cores)


def random_bytes(rng, operand):
    info = np.iinfo(operand.dtype)
    return rng.integers(info.min, info.max, operand.shape, operand.dtype, endpoint=True)


@st.composite
def reals(draw):
    """Tiles of float32 layers that the kernels are for, operands in larger boxes or not."""
    found = []
    kinds = st.one_of(
        real_cases.denses(), real_cases.conv2ds(), real_cases.pools(), real_cases.sums()
    )
    rows = real_cases.rows().filter(lambda layer: layer.kind != "rms_norm")  # has no kernel
    for layer in draw(st.lists(st.one_of(kinds, kinds, rows), min_size=25)):
        if refuses_real(layer) is not None:
            continue
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        values = {o.name: rng.normal(0, 1, o.shape).astype(np.float32) for o in layer.operands[:-1]}
        inputs = [values.pop(o.name) for o in layer.inputs]
        found.append(Case(layer, inputs, values, draw(tiles(layer)), draw(st.booleans())))
    return found


def test_floats_are_within_their_bounds(program):
    @MANY
    @given(reals())
    def holds(batch):
        check(program, batch)

    holds()


#: Magnitudes of values by what products are of: small ones, and such as are beyond its range.
SIZES = {"fp16": (1e-4, 300.0), "bf16": (1e-19, 1e19)}


@st.composite
def shorts(draw, floats):
    """Tiles of layers with products of 16 bits, some with numbers out of their range."""
    found = []
    kinds = st.one_of(real_cases.denses(), real_cases.conv2ds())
    for layer in draw(st.lists(kinds, min_size=25)):
        if refuses_real(layer) is not None or refuses_short_products(layer) is not None:
            continue
        rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
        size = draw(st.sampled_from([1.0, 1.0, *SIZES[floats]]))
        values = {o.name: rng.normal(0, size, o.shape) for o in layer.operands[:-1]}
        values = {name: value.astype(np.float32) for name, value in values.items()}
        inputs = [values.pop(o.name) for o in layer.inputs]
        converted = Cluster(floats=floats).convert(layer, values)
        assert converted.workload.real.precision == SHORT[floats].precision
        ranges = draw(tiles(layer))
        of = SHORT[floats]
        types = {name: of.dtype for name in ("x", "y") if draw(st.booleans())}
        inputs = [of.stored(array) if "x" in types else array for array in inputs]
        workload = stored_as(converted.workload, types)
        found.append(Case(workload, inputs, values, ranges, draw(st.booleans())))
    return found


@pytest.mark.parametrize("floats", SIZES)
def test_products_of_16_bits(program, floats):
    """Bit for bit."""

    @MANY
    @given(shorts(floats))
    def holds(batch):
        check(program, batch)

    holds()


@pytest.mark.slow
@pytest.mark.parametrize("floats", SIZES)
def test_three_hundred_products_of_16_bits(program, floats):
    """Random shapes, windows, values and tiles, on eight cores and on seven."""
    seen = []

    @settings(MANY, max_examples=60)
    @given(shorts(floats))
    def holds(batch):
        seen.extend(batch)
        check(program, batch, cores=7 if len(seen) % 2 else 8)

    holds()
    assert len(seen) >= 300


def test_every_byte_of_a_sum(program):
    """All pairs of bytes through `add`, raw values on both ends of the range."""
    every = np.arange(-128, 128).astype(np.int8)
    left, right = (v.reshape(1, 1, 256, 256).copy() for v in np.meshgrid(every, every))
    shape = (1, 1, 256, 256)
    workload = elementwise(
        "add", Z, Z, Z, shape=shape, shape1=shape, out=shape, tail=full_range("int8", -7)
    )
    changed, _, constants = fixed(workload, 3)
    check(program, [whole(changed, [left, right], constants)])


@pytest.mark.parametrize("compiler", COMPILERS)
@pytest.mark.parametrize("name", ["ma_gap9_pmsis.c", "ma_l3_pmsis.c", "ma_ne16_pmsis.c"])
def test_binding_to_the_sdk_compiles_against_its_declarations(compiler, name):
    """Names, types and warnings, with every compiler; test_pmsis.py executes it."""
    includes = [RUNTIME / "include", COMMON, RUNTIME / "pmsis" / "alone"]
    flags = [*FLAGS, "-fsyntax-only", "-DMA_CHIP", *(f"-I{path}" for path in includes)]
    done = subprocess.run(
        [compiler, *flags, str(RUNTIME / "pmsis" / name)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
