"""Convolutions, products, pools and normalisation in Relay, against numpy."""

import numpy as np
from numpy_nets import conv, conv_transpose, pool
from relay_harness import Sheet, needs_compiler

pytestmark = needs_compiler

RNG = np.random.default_rng(11)


def floats(*shape):
    return RNG.uniform(-1, 1, shape).astype(np.float32)


def bytes_(*shape, dtype=np.int8):
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def nhwc(x):
    return np.transpose(x, (0, 2, 3, 1))


def test_convolutions_of_floats(tmp_path):
    x1, x2, x3 = floats(1, 4, 9), floats(2, 4, 7, 6), floats(1, 2, 4, 5, 6)
    w1, w2, w3 = floats(3, 4, 3), floats(6, 2, 3, 2), floats(3, 2, 2, 3, 2)
    t1, t2, t3 = floats(4, 3, 3), floats(4, 3, 3, 3), floats(2, 3, 2, 2, 2)
    sheet = Sheet(
        {"x1": x1, "x2": x2, "x3": x3, "last": nhwc(x2)},
        {
            "w1": w1,
            "w2": w2,
            "w3": w3,
            "t1": t1,
            "t2": t2,
            "t3": t3,
            "hwio": np.transpose(w2, (2, 3, 1, 0)),
        },
    )
    sheet.check(
        "nn.conv1d(%x1, %w1, strides=[2], padding=[1, 2], channels=3, kernel_size=[3])",
        conv(x1, w1, [2], [1, 2], [1]),
        1e-5,
    )
    wanted = conv(x2, w2, [2, 1], [1, 0, 2, 1], [1, 2], 2)
    attributes = "strides=[2, 1], padding=[1, 0, 2, 1], dilation=[1, 2], groups=2"
    sheet.check(f"nn.conv2d(%x2, %w2, {attributes})", wanted, 1e-5)
    sheet.check(
        f'nn.conv2d(%last, %hwio, {attributes}, data_layout="NHWC", kernel_layout="HWIO")',
        nhwc(wanted),
        1e-5,
    )
    sheet.check(
        f'nn.conv2d(%last, %w2, {attributes}, data_layout="NHWC", out_layout="NCHW")', wanted, 1e-5
    )
    sheet.check(
        "nn.conv3d(%x3, %w3, padding=[1, 1, 1])", conv(x3, w3, [1, 1, 1], [1] * 6, [1, 1, 1]), 1e-5
    )
    sheet.check(
        "nn.conv1d_transpose(%x1, %t1, strides=[2], padding=[1, 0], output_padding=[1])",
        conv_transpose(x1, t1, [2], [1, 0], [1]),
        1e-5,
    )
    sheet.check(
        "nn.conv2d_transpose(%x2, %t2, strides=[2, 2], padding=[1, 1, 1, 1], "
        "output_padding=[1, 0])",
        conv_transpose(x2, t2, [2, 2], [1] * 4, [1, 0]),
        1e-5,
    )
    sheet.check(
        "nn.conv3d_transpose(%x3, %t3, strides=[1, 2, 1])",
        conv_transpose(x3, t3, [1, 2, 1], [0] * 6, [0] * 3),
        1e-5,
    )
    sheet.verify(tmp_path)


def test_integer_products(tmp_path):
    x, w = bytes_(1, 4, 6, 6), bytes_(6, 4, 3, 3)
    u = bytes_(1, 4, 6, 6, dtype=np.uint8)
    depth, multiple = bytes_(4, 1, 3, 3), bytes_(3, 3, 4, 2)
    a, b, rows = bytes_(5, 7), bytes_(3, 7), bytes_(2, 5, 7)
    columns = bytes_(2, 4, 7)
    params = {"w": w, "depth": depth, "multiple": multiple, "b": b}
    sheet = Sheet({"x": x, "u": u, "a": a, "rows": rows, "columns": columns}, params)
    wide = conv(x.astype(np.int32), w.astype(np.int32), [1, 1], [1] * 4, [1, 1])
    sheet.check('nn.conv2d(%x, %w, padding=[1, 1], out_dtype="int32")', wide)
    sheet.check("nn.conv2d(%x, %w, padding=[1])", wide.astype(np.int8))
    sheet.check('nn.conv2d(%x, %w, padding=[1], out_dtype="int16")', wide.astype(np.int16))
    sheet.check(
        'nn.conv2d(%u, %w, out_dtype="int32")',
        conv(u.astype(np.int32), w.astype(np.int32), [1, 1], [0] * 4, [1, 1]),
    )
    sheet.check(
        'nn.conv2d(%x, %depth, groups=4, channels=4, out_dtype="int32")',
        conv(x.astype(np.int32), depth.astype(np.int32), [1, 1], [0] * 4, [1, 1], 4),
    )
    grouped = np.transpose(multiple, (2, 3, 0, 1)).reshape(8, 1, 3, 3).astype(np.int32)
    last = conv(x.astype(np.int32), grouped, [1, 1], [0] * 4, [1, 1], 4)
    sheet.check(
        "nn.conv2d(transpose(%x, axes=[0, 2, 3, 1]), %multiple, groups=4, channels=8, "
        'data_layout="NHWC", kernel_layout="HWOI", out_dtype="int32")',
        nhwc(last),
    )
    wide = a.astype(np.int32) @ b.T.astype(np.int32)
    sheet.check('nn.dense(%a, %b, units=3, out_dtype="int32")', wide)
    sheet.check("nn.dense(%a, %b, units=None)", wide.astype(np.int8))
    sheet.check('nn.matmul(%b, %a, out_dtype="int32", transpose_b=True)', wide.T)
    batch = rows.astype(np.int32) @ np.swapaxes(columns, 1, 2).astype(np.int32)
    sheet.check('nn.batch_matmul(%rows, %columns, out_dtype="int32", transpose_b=True)', batch)
    sheet.check('nn.batch_matmul(%rows, %columns, out_dtype="int32")', batch)
    sheet.check(
        'nn.batch_matmul(%columns, %rows, transpose_a=False, transpose_b=1, out_dtype="int32")',
        np.swapaxes(batch, 1, 2),
    )
    sheet.verify(tmp_path)


def test_pools(tmp_path):
    x, i, line, cube = (
        floats(2, 3, 8, 6),
        bytes_(2, 3, 8, 6),
        floats(1, 2, 7),
        floats(1, 2, 4, 4, 4),
    )
    n = RNG.integers(-(10**6), 10**6, (2, 3, 8, 6)).astype(np.int32)
    sheet = Sheet({"x": x, "i": i, "n": n, "line": line, "cube": cube, "last": nhwc(i)})
    window = "pool_size=[3, 2], strides=[2, 2], padding=[1, 0, 1, 1]"
    given = ([3, 2], [2, 2], [1, 0, 1, 1])
    for name, value in (("x", x), ("i", i)):
        sheet.check(f"nn.max_pool2d(%{name}, {window})", pool(value, "max", *given))
    sheet.check(f"nn.avg_pool2d(%x, {window})", pool(x, "avg", *given), 1e-6)
    sheet.check(
        f"nn.avg_pool2d(%x, {window}, count_include_pad=True)", pool(x, "avg", *given, True), 1e-6
    )
    sheet.check(f"nn.avg_pool2d(%i, {window})", pool(i, "avg", *given))
    sheet.check(f"nn.avg_pool2d(%n, {window}, count_include_pad=1)", pool(n, "avg", *given, True))
    sheet.check(
        'cast(nn.avg_pool2d(cast(%last, dtype="int32"), pool_size=[8, 6], '
        'layout="NHWC"), dtype="int8")',
        nhwc(pool(i, "avg", [8, 6], [1, 1], [0] * 4)),
    )
    sheet.check(
        'nn.max_pool2d(%last, pool_size=[2, 2], strides=[2, 2], layout="NHWC")',
        nhwc(pool(i, "max", [2, 2], [2, 2], [0] * 4)),
    )
    ceil = pool(x, "max", [3, 3], [2, 2], [0] * 4, ceil_mode=True)
    sheet.check("nn.max_pool2d(%x, pool_size=[3, 3], strides=[2, 2], ceil_mode=True)", ceil)
    sheet.check(
        "nn.max_pool1d(%line, pool_size=[3], strides=[2])", pool(line, "max", [3], [2], [0, 0])
    )
    sheet.check("nn.avg_pool1d(%line, pool_size=[3])", pool(line, "avg", [3], [1], [0, 0]), 1e-6)
    sheet.check(
        "nn.max_pool3d(%cube, pool_size=[2, 2, 2], strides=[2, 2, 2])",
        pool(cube, "max", [2] * 3, [2] * 3, [0] * 6),
    )
    sheet.check(
        "nn.avg_pool3d(%cube, pool_size=[2, 2, 2], strides=[2, 2, 2])",
        pool(cube, "avg", [2] * 3, [2] * 3, [0] * 6),
        1e-6,
    )
    sheet.check("nn.global_max_pool2d(%x)", x.max((2, 3), keepdims=True))
    sheet.check("nn.global_avg_pool2d(%x)", x.mean((2, 3), keepdims=True), 1e-6)
    sheet.check("nn.global_avg_pool2d(%i)", pool(i, "avg", [8, 6], [1, 1], [0] * 4))
    sheet.check(
        'nn.global_avg_pool2d(%last, layout="NHWC")', nhwc(pool(i, "avg", [8, 6], [1, 1], [0] * 4))
    )
    sheet.check(
        "nn.adaptive_avg_pool2d(%x, output_size=[2, 3])",
        pool(x, "avg", [4, 2], [4, 2], [0] * 4),
        1e-6,
    )
    sheet.check(
        "nn.adaptive_avg_pool2d(%i, output_size=[1])", pool(i, "avg", [8, 6], [1, 1], [0] * 4)
    )
    sheet.check(
        "nn.adaptive_max_pool2d(%x, output_size=[4, 3])", pool(x, "max", [2, 2], [2, 2], [0] * 4)
    )
    sheet.verify(tmp_path)


def test_normalisation_and_reductions(tmp_path):
    x, i = floats(2, 3, 4, 5), bytes_(2, 3, 4, 5)
    n = RNG.integers(-(10**5), 10**5, (2, 3, 4, 5)).astype(np.int32)
    gamma, beta, mean, variance = floats(3), floats(3), floats(3), np.abs(floats(3)) + 1
    g5, b5 = floats(5), floats(5)
    params = {"gamma": gamma, "beta": beta, "mean": mean, "var": variance, "g5": g5, "b5": b5}
    sheet = Sheet({"x": x, "i": i, "n": n}, params)

    def along(v):
        return v.reshape(3, 1, 1)

    def softmax(v, axis):
        e = np.exp(v - v.max(axis, keepdims=True))
        return e / e.sum(axis, keepdims=True)

    def centred(v, axes, epsilon):
        return (v - v.mean(axes, keepdims=True)) / np.sqrt(v.var(axes, keepdims=True) + epsilon)

    sheet.check("nn.softmax(%x)", softmax(x, -1), 1e-5)
    sheet.check("nn.softmax(%x, axis=1)", softmax(x, 1), 1e-5)
    sheet.check("nn.log_softmax(%x, axis=-1)", np.log(softmax(x, -1)), 1e-5)
    normal = (x - along(mean)) / np.sqrt(along(variance) + np.float32(1e-3))
    sheet.check(
        "nn.batch_norm(%x, %gamma, %beta, %mean, %var, epsilon=0.001f).0",
        normal * along(gamma) + along(beta),
        1e-5,
    )
    sheet.check(
        "nn.batch_norm(%x, %gamma, %beta, %mean, %var, epsilon=0.001f, scale=False, "
        "center=False).0",
        normal,
        1e-5,
    )
    sheet.check("nn.layer_norm(%x, %g5, %b5)", centred(x, -1, 1e-5) * g5 + b5, 1e-4)
    sheet.check(
        "nn.instance_norm(%x, %gamma, %beta)",
        centred(x, (2, 3), 1e-5) * along(gamma) + along(beta),
        1e-4,
    )
    sheet.check(
        "nn.group_norm(%x, %gamma, %beta, num_groups=3)",
        centred(x, (2, 3), 1e-5) * along(gamma) + along(beta),
        1e-4,
    )
    sheet.check(
        "nn.l2_normalize(%x, eps=1e-10f, axis=[1])",
        x / np.sqrt((x * x).sum(1, keepdims=True)),
        1e-5,
    )
    sheet.check("sum(%x, axis=[1, 3])", x.sum((1, 3)), 1e-5)
    sheet.check(
        "mean(%x, axis=[1], keepdims=True, exclude=True)", x.mean((0, 2, 3), keepdims=True), 1e-5
    )
    sheet.check("max(%x, axis=[-1])", x.max(-1))
    sheet.check("min(%i)", i.min())
    sheet.check("prod(%x, axis=[0])", x.prod(0), 1e-5)
    sheet.check("variance(%x, mean(%x, axis=[1], keepdims=True), axis=[1])", x.var(1), 1e-5)
    sheet.check("sum(%n, axis=[0, 1])", n.sum((0, 1)).astype(np.int32))
    sheet.check("sum(%i, axis=[2, 3])", i.sum((2, 3)).astype(np.int8))
    sheet.check("mean(%n, axis=[2, 3])", np.trunc(n.sum((2, 3)) / 20).astype(np.int32))
    sheet.check("argmax(%x, axis=[1])", x.argmax(1).astype(np.int32))
    sheet.check("argmin(%i, axis=[3], keepdims=True)", i.argmin(3, keepdims=True).astype(np.int32))
    sheet.check("any(greater(%x, 0.9f), axis=[1])", (x > 0.9).any(1))
    sheet.check("all(greater(%x, -0.9f), axis=[1])", (x > -0.9).all(1))
    sheet.check("cumsum(%n, axis=3)", n.cumsum(3).astype(np.int32))
    sheet.verify(tmp_path)
