"""The qnn dialect in Relay, bit for bit against TVM's integer arithmetic in numpy."""

import numpy as np
from numpy_nets import conv, requantize
from relay_harness import Sheet, needs_compiler

pytestmark = needs_compiler

RNG = np.random.default_rng(17)


def bytes_(*shape, dtype=np.int8):
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max + 1, shape).astype(dtype)


def wide(x):
    return x.astype(np.int32)


def test_requantisation(tmp_path):
    acc = RNG.integers(-(2**20), 2**20, (2, 4, 5)).astype(np.int32)
    # Sums that lie exactly between two results, where the roundings differ.
    acc[0, 0] = [-48, -16, 16, 48, 80]
    scales = np.array([0.001, 0.02, 0.5, 0.03125], np.float32)
    zeros = np.array([3, 0, -5, 7], np.int32)
    sheet = Sheet({"acc": acc, "x": bytes_(2, 4, 5)}, {"s": scales, "z": zeros})
    x = sheet.inputs["x"]
    for rounding in ("UPWARD", "TONEAREST"):
        given = f'rounding="{rounding}"'
        sheet.check(
            f'qnn.requantize(%acc, 0.03125f, 0, 1f, 3, {given}, out_dtype="int8")',
            requantize(acc, 0.03125, 0, 1.0, 3, rounding=rounding),
        )
        sheet.check(
            f'qnn.requantize(%acc, %s, %z, 7.5f, -1, axis=1, {given}, out_dtype="uint8")',
            requantize(acc, scales, zeros.reshape(4, 1), 7.5, -1, 1, "uint8", rounding),
        )
        sheet.check(
            f'qnn.requantize(%x, 0.3f, 12, 0.07f, 0, {given}, out_dtype="int32")',
            requantize(x, 0.3, 12, 0.07, 0, dtype="int32", rounding=rounding),
        )
    sheet.check(
        'qnn.requantize(%x, 0.3f, 12, 0.3f, 2, out_dtype="int8")', requantize(x, 0.3, 12, 0.3, 2)
    )
    sheet.check(
        'qnn.requantize(%acc, 0.1f, 0, 0.7f, 0, out_dtype="int16")',
        requantize(acc, 0.1, 0, 0.7, 0, dtype="int16"),
    )
    factor = np.float32(np.float64(np.float32(0.1)) / np.float64(np.float32(0.7)))
    real = np.floor(acc.astype(np.float32) * factor + np.float32(0.5)) + np.float32(4)
    sheet.check(
        'qnn.requantize(%acc, 0.1f, 0, 0.7f, 4, rounding="UPWARD", '
        'compute_dtype="float32", out_dtype="int8")',
        np.clip(real, -128, 127).astype(np.int8),
    )
    sheet.verify(tmp_path)


def test_products(tmp_path):
    x, u, w = bytes_(1, 3, 6, 5), bytes_(1, 3, 6, 5, dtype=np.uint8), bytes_(4, 3, 3, 3)
    wu, d, fc = bytes_(4, 3, 3, 3, dtype=np.uint8), bytes_(2, 9), bytes_(4, 9)
    zeros = np.array([1, -2, 3, 0], np.int32)
    sheet = Sheet({"x": x, "u": u, "d": d}, {"w": w, "wu": wu, "fc": fc, "zeros": zeros})
    given = 'padding=[1, 1, 1, 1], channels=4, kernel_size=[3, 3], out_dtype="int32"'

    def product(a, za, b, zb):
        return conv(wide(a) - za, wide(b) - zb, [1, 1], [1] * 4, [1, 1])

    sheet.check(f"qnn.conv2d(%x, %w, 0, 0, 0.1f, 0.2f, {given})", product(x, 0, w, 0))
    sheet.check(f"qnn.conv2d(%x, %w, -5, 0, 0.1f, 0.2f, {given})", product(x, -5, w, 0))
    sheet.check(f"qnn.conv2d(%u, %wu, 128, 121, 0.1f, 0.2f, {given})", product(u, 128, wu, 121))
    sheet.check(
        f"qnn.conv2d(%x, %w, 7, %zeros, 0.1f, 0.2f, {given})",
        product(x, 7, w, zeros.reshape(4, 1, 1, 1)),
    )
    sheet.check(
        'qnn.dense(%d, %fc, 3, 0, 0.1f, 0.2f, units=4, out_dtype="int32")',
        (wide(d) - 3) @ wide(fc).T,
    )
    sheet.check(
        'qnn.dense(%d, %fc, 0, %zeros, 0.1f, 0.2f, units=4, out_dtype="int32")',
        wide(d) @ (wide(fc) - zeros.reshape(4, 1)).T,
    )
    sheet.verify(tmp_path)


def integer_softmax(x, scale, zero, out_scale, out_zero):
    one = int(np.floor(np.float32(1) / np.float32(scale) + np.float32(0.5)))
    steps = wide(x) - zero
    below = steps - steps.max(-1, keepdims=True)
    scaled = below + (below >> 1) - (below >> 4)
    whole = np.clip(scaled // -one, 0, 20)
    base = ((scaled + whole * one) >> 1) + one
    powers = base << (whole.max(-1, keepdims=True) - whole)
    share = (1 << 30) // powers.sum(-1, keepdims=True)
    return requantize((share * powers) >> 23, 1 / 128, 0, out_scale, out_zero)


def test_elementwise_and_softmax(tmp_path):
    a, b, row = bytes_(2, 4, 5), bytes_(2, 4, 5), bytes_(5)
    real = RNG.uniform(-3, 3, (2, 4, 5)).astype(np.float32)
    scales, zeros = np.array([0.1, 0.2, 0.3, 0.05], np.float32), np.array([1, 0, -3, 9], np.int32)
    sheet = Sheet({"a": a, "b": b, "row": row, "real": real}, {"s": scales, "z": zeros})

    def summed(sign, left, right, out):
        moved = [
            requantize(v, s, z, *out, dtype="int32") if (s, z) != out else wide(v)
            for v, s, z in (left, right)
        ]
        total = moved[0] + sign * moved[1] - sign * out[1]
        return np.clip(total, -128, 127).astype(np.int8)

    sheet.check(
        "qnn.add(%a, %b, 0.1f, 3, 0.07f, -4, 0.2f, 5)",
        summed(1, (a, 0.1, 3), (b, 0.07, -4), (0.2, 5)),
    )
    sheet.check(
        "qnn.add(%a, %row, 0.2f, 5, 0.07f, -4, 0.2f, 5)",
        summed(1, (a, 0.2, 5), (row, 0.07, -4), (0.2, 5)),
    )
    sheet.check(
        "qnn.subtract(%a, %b, 0.1f, 3, 0.07f, -4, 0.2f, 5)",
        summed(-1, (a, 0.1, 3), (b, 0.07, -4), (0.2, 5)),
    )
    raw = (wide(a) - 3) * (wide(b) + 4)
    sheet.check(
        "qnn.mul(%a, %b, 0.1f, 3, 0.07f, -4, 0.2f, 5)",
        requantize(raw, np.float32(0.1) * np.float32(0.07), 0, 0.2, 5),
    )
    joined = [requantize(a, 0.1, 3, 0.2, 5), b]
    sheet.check(
        "qnn.concatenate((%a, %b), (0.1f, 0.2f), (3, 5), 0.2f, 5, axis=1)",
        np.concatenate(joined, 1),
    )
    sheet.check(
        "qnn.softmax(%a, 0.05f, 3, 0.0078125f, -128)", integer_softmax(a, 0.05, 3, 1 / 128, -128)
    )
    sheet.check(
        "qnn.softmax(%a, 0.05f, 3, 0.00390625f, -128, axis=2)",
        integer_softmax(a, 0.05, 3, 1 / 256, -128),
    )
    steps = np.rint(real / np.float32(0.05)) + 7
    sheet.check(
        'qnn.quantize(%real, 0.05f, 7, out_dtype="int8")', np.clip(steps, -128, 127).astype(np.int8)
    )
    columns = (slice(None), slice(None), None)
    steps = np.rint(real / scales[columns[1:]][None]) + zeros[columns[1:]][None]
    sheet.check(
        'qnn.quantize(%real, %s, %z, out_dtype="uint8", axis=1)',
        np.clip(steps, 0, 255).astype(np.uint8),
    )
    sheet.check("qnn.dequantize(%a, 0.1f, 3)", (wide(a) - 3).astype(np.float32) * np.float32(0.1))
    sheet.check(
        "qnn.dequantize(%a, %s, %z, axis=1)",
        (wide(a) - zeros.reshape(4, 1)).astype(np.float32) * scales.reshape(4, 1),
    )
    sheet.verify(tmp_path)
