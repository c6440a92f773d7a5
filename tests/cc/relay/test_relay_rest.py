"""Relay's less common operators, compiled for the CPU, against numpy."""

from math import erf

import numpy as np
from numpy_nets import pool
from relay_harness import Sheet, needs_compiler

pytestmark = needs_compiler

RNG = np.random.default_rng(23)
X = RNG.uniform(-3, 3, (2, 3, 4)).astype(np.float32)
EDGES = np.array([np.inf, -np.inf, np.nan, 0.0, -3.5, 3e38], np.float32)
A = RNG.integers(-128, 128, (2, 3, 4)).astype(np.int8)
B = RNG.integers(-128, 128, (2, 5, 4)).astype(np.int8)
N = RNG.integers(-9, 10, (2, 3, 4)).astype(np.int32)
MARKS = (
    "annotation.on_device(%x, device_type=1)",
    "annotation.cast_hint(%x, dtype=int8)",
    "annotation.bitpack_start(%x)",
    "annotation.bitpack_end(%x)",
    "annotation.checkpoint(%x)",
    'annotation.compiler_begin(%x, compiler="ccompiler")',
    'annotation.compiler_end(%x, compiler="ccompiler")',
    "device_copy(%x, src_dev_type=1, dst_dev_type=2)",
    "copy(%x)",
    "identity(%x)",
)


def test_elementwise_and_annotations(tmp_path):
    slope = np.array([0.25, -1, 2], np.float32)
    sheet = Sheet({"x": X, "e": EDGES}, {"slope": slope})
    sheet.check("isinf(%e)", np.isinf(EDGES))
    sheet.check("isfinite(%e)", np.isfinite(EDGES))
    real_erf = np.array([erf(v) for v in X.reshape(-1)], np.float32).reshape(X.shape)
    sheet.check("fast_erf(%x)", real_erf, 2e-6)
    prelu = np.where(X > 0, X, X * slope.reshape(3, 1))
    sheet.check("nn.prelu(%x, %slope)", prelu)
    last = np.transpose(prelu, (0, 2, 1))
    sheet.check("nn.prelu(transpose(%x, axes=[0, 2, 1]), %slope, axis=2)", last)
    powers = np.exp(X - X.max(1, keepdims=True))
    sheet.check("nn.fast_softmax(%x, axis=1)", powers / powers.sum(1, keepdims=True), 1e-5)
    for mark in MARKS:
        sheet.check(f"negative({mark})", -X)
    sheet.verify(tmp_path)


def test_filled_and_counted(tmp_path):
    sheet = Sheet({"x": X, "n": N, "row": X[0, :1]})
    sheet.check('add(zeros(shape=[3, 4], dtype="float32"), %x)', X)
    sheet.check('add(%n, ones(shape=[4], dtype="int32"))', N + 1)
    sheet.check("maximum(%n, zeros_like(%n))", np.maximum(N, 0))
    sheet.check("add(%n, full_like(%n, -7))", N - 7)
    sheet.check('add(%n, arange(2, 14, 3, dtype="int32"))', N + np.arange(2, 14, 3, dtype=np.int32))
    sheet.check("multiply(%x, arange(1f, -1f, -0.5f))", X * np.arange(1, -1, -0.5, np.float32))
    sheet.check('add(%n, take(shape_of(%x, dtype="int32"), 1))', N + 3)
    sheet.check('add(%n, ndarray_size(%x, dtype="int32"))', N + 24)
    sheet.check("broadcast_to_like(%row, %x)", np.broadcast_to(X[0, :1], X.shape))
    sheet.check("cumprod(%n, axis=2)", N.cumprod(2).astype(np.int32))
    exclusive = np.concatenate([np.ones((2, 3, 1), np.int32), N.cumprod(2)[:, :, :-1]], 2)
    sheet.check("cumprod(%n, axis=2, exclusive=True)", exclusive.astype(np.int32))
    sheet.verify(tmp_path)


def test_pools_of_lines_and_volumes(tmp_path):
    line, cube = (RNG.uniform(-1, 1, s).astype(np.float32) for s in ((2, 3, 8), (1, 2, 4, 6, 2)))
    image, codes = RNG.uniform(-1, 1, (1, 3, 4, 6)).astype(np.float32), A.reshape(1, 3, 2, 4)
    cases = {"line": line, "cube": cube, "image": image, "codes": codes, "bytes": A}
    sheet = Sheet(cases)
    for name, ways, want in (
        *(("line", 1, (4,)), ("cube", 3, (2, 3, 1)), ("bytes", 1, (2,))),
        *(("image", 2, (2, 3)), ("codes", 2, (1, 2)), ("line", 1, (1,)), ("cube", 3, (1, 1, 1))),
    ):
        x = cases[name]
        size = [have // w for have, w in zip(x.shape[2:], want, strict=True)]
        near = 1e-6 if x.dtype == np.float32 else 0.0
        for kind in ("max", "avg"):
            wanted = pool(x, kind, size, size, [0] * 2 * ways)
            for space in ("nn", "contrib"):
                call = f"{space}.adaptive_{kind}_pool{ways}d(%{name}, output_size={list(want)})"
                sheet.check(call, wanted, near if kind == "avg" else 0.0)
            if set(want) == {1}:
                call = f"nn.global_{kind}_pool{ways}d(%{name})"
                sheet.check(call, wanted, near if kind == "avg" else 0.0)
    sheet.verify(tmp_path)


def test_pixels(tmp_path):
    x = RNG.uniform(-1, 1, (1, 8, 3, 2)).astype(np.float32)
    last = np.transpose(x, (0, 2, 3, 1))
    sheet = Sheet({"x": x, "last": last})
    deep = x.reshape(1, 2, 2, 2, 3, 2).transpose(0, 3, 4, 1, 5, 2).reshape(1, 2, 6, 4)
    sheet.check("nn.depth_to_space(%x, block_size=2)", deep)
    sheet.check(
        'nn.depth_to_space(%last, block_size=2, layout="NHWC")', np.transpose(deep, (0, 2, 3, 1))
    )
    columns = x.reshape(1, 2, 2, 2, 3, 2).transpose(0, 1, 4, 2, 5, 3).reshape(1, 2, 6, 4)
    sheet.check('nn.depth_to_space(%x, block_size=2, mode="CRD")', columns)
    sheet.check(
        'image.resize(%x, size=[6, 4], method="nearest_neighbor", '
        'coordinate_transformation_mode="asymmetric")',
        x.repeat(2, 2).repeat(2, 3),
    )
    rows = np.linspace(0, 1, 3, dtype=np.float32).reshape(3, 1)
    between = x[..., :1] * (1 - rows.T) + x[..., 1:] * rows.T
    sheet.check(
        'image.resize(%x, size=[3, 3], method="bilinear", '
        'coordinate_transformation_mode="align_corners")',
        between,
        1e-6,
    )
    sheet.verify(tmp_path)


def test_quantised_functions_and_products(tmp_path):
    """The real function of each step, to the nearest step of the result."""
    positive = RNG.integers(1, 128, (2, 3, 4)).astype(np.int8)
    rows = RNG.integers(-128, 128, (1, 5, 4)).astype(np.int8)
    sheet = Sheet({"a": A, "p": positive, "b": B, "rows": rows})
    real = {
        "sqrt": np.sqrt, "rsqrt": lambda v: 1 / np.sqrt(v), "exp": np.exp, "log": np.log,
        "abs": np.abs, "tanh": np.tanh, "sigmoid": lambda v: 1 / (1 + np.exp(-v)),
        "erf": lambda v: np.array([erf(w) for w in v.reshape(-1)]).reshape(v.shape),
    }  # fmt: skip
    for name, function in real.items():
        x = "p" if name in ("sqrt", "rsqrt", "log") else "a"
        zero = 0 if x == "p" else 3
        steps = function((sheet.inputs[x].astype(np.float64) - zero) * np.float32(0.03)) / 0.021
        assert np.abs(steps - np.floor(steps) - 0.5).min() > 1e-4  # no tie, which TVM rounds away
        wanted = np.clip(np.rint(steps) - 5, -128, 127).astype(np.int8)
        sheet.check(f"qnn.{name}(%{x}, 0.03f, {zero}, 0.021f, -5)", wanted)
    wide = A.astype(np.int32) - 3
    product = wide @ np.swapaxes(B.astype(np.int32) + 4, 1, 2)
    call = 'qnn.batch_matmul(%a, {}, 3, -4, 0.1f, 0.2f, out_dtype="int32")'
    sheet.check(call.format("%b"), product)
    sheet.check(call.format("%rows"), wide @ (rows[0].astype(np.int32) + 4).T)
    sheet.verify(tmp_path)
