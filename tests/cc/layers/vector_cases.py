"""Shapes at which vector kernels change their ways: primes, 1, one off a multiple of a tile."""

from dataclasses import replace

from match_aie.workload import (
    Quantized,
    Tail,
    Window,
    conv2d,
    dense,
    elementwise,
    full_range,
    matmul,
    pool2d,
    quantised_norm,
    rowwise,
    table,
    with_sum,
)

U8, S8, SUM = Quantized("uint8", 0.02, 9), Quantized("int8", 0.05, -3), Quantized("int32")
FLOAT = Quantized("float32")
TAIL, RELU, BYTE = full_range("int8", -3), Tail(-3, -3, 101), full_range("uint8", 9)
SAME = Window(padding=(1, 1, 1, 1))


def conv(x, y, image, k, f, c=None, groups=1, window=SAME, tail=TAIL, scales=None, dtype="int8"):
    rows, columns, channels = image
    return conv2d(
        x,
        y if tail else SUM,
        shape=(1, rows, columns, channels),
        weight_shape=(k, *f, c or channels // groups),
        groups=groups,
        window=window,
        weight_dtype=dtype,
        tail=tail,
        scales=(scales or k) if tail else 0,
    )


def products():
    """Convolutions, dense layers and matmuls."""
    none = Window()
    yield conv(U8, S8, (7, 13, 3), 17, (3, 3))
    yield conv(S8, S8, (9, 17, 16), 15, (3, 3), tail=RELU)
    yield conv(
        U8, U8, (5, 8, 5), 33, (3, 3), window=Window((2, 2), (1, 1), (0, 1, 1, 0)), tail=BYTE
    )
    yield conv(
        S8, SUM, (6, 7, 4), 9, (2, 3), window=Window((1, 2), (2, 3), (2, 1, 0, 3)), tail=None
    )
    yield conv(U8, S8, (6, 6, 12), 16, (1, 1), window=none, scales=1)
    yield conv(U8, S8, (5, 5, 7), 31, (1, 1), window=none)
    yield conv(S8, S8, (8, 9, 8), 24, (1, 1), window=Window((2, 2)))
    yield conv(U8, S8, (4, 5, 6), 10, (3, 3), groups=2)
    yield conv(U8, S8, (3, 4, 2), 4, (2, 2), groups=2, dtype="int16")
    yield conv(U8, S8, (11, 1, 1), 1, (10, 1), window=Window(padding=(4, 0, 5, 0)))
    yield conv(S8, S8, (5, 5, 3), 6, (3, 3), groups=3)
    for rows, inputs, outputs in ((1, 640, 129), (1, 7, 1), (7, 33, 10), (13, 64, 31)):
        for x in (U8, S8):
            tail = TAIL if outputs > 1 else None
            yield dense(x, S8 if tail else SUM, rows=rows, inputs=inputs, outputs=outputs,
                        tail=tail, scales=outputs if tail else 0)  # fmt: skip
    yield dense(U8, S8, rows=3, inputs=9, outputs=17, weight_dtype="int16", tail=TAIL, scales=17)
    yield matmul(U8, S8, S8, batch=2, rows=7, inner=33, columns=31, tail=TAIL)
    yield matmul(S8, S8, SUM, batch=1, rows=1, inner=5, columns=1)
    yield matmul(S8, U8, S8, batch=3, rows=12, inner=8, columns=48, tail=RELU)
    for x, x1 in ((U8, S8), (S8, S8), (S8, U8)):
        for size in ({"batch": 2, "rows": 4, "inner": 4, "columns": 4},
                     {"batch": 3, "rows": 5, "inner": 13, "columns": 37}):  # fmt: skip
            yield known_right(matmul(x, x1, S8, **size, tail=TAIL))
    # Zero points that leave nothing to correct, that correct one side's sums, and the most.
    none, half = Quantized("uint8", 0.02, 0), Quantized("uint8", 0.02, 128)
    most, least = Quantized("uint8", 0.02, 255), Quantized("int8", 0.05, -128)
    for x, x1 in ((none, half), (none, U8), (U8, half), (half, U8), (most, most), (least, least)):
        yield matmul(x, x1, S8, batch=3, rows=5, inner=64, columns=17, tail=TAIL)
        yield matmul(x, x1, SUM, batch=1, rows=17, inner=6, columns=49)
    # Panels of weights that several tiles read: with small caches they ask for the next one.
    for x, outputs in ((U8, 100), (S8, 100), (U8, 131)):
        yield dense(x, S8, rows=24, inputs=16, outputs=outputs, tail=TAIL, scales=outputs)

    yield from at_edges()


def at_edges():
    """Convolutions whose prepared padding is 0, of which filters see much at every edge."""
    none, least = Quantized("uint8", 0.02, 0), Quantized("int8", 0.05, -128)
    yield conv(none, S8, (7, 7, 16), 100, (3, 3))
    yield conv(least, U8, (5, 6, 8), 33, (3, 3), tail=BYTE, window=Window((2, 2), padding=(1,) * 4))
    yield conv(none, S8, (5, 4, 12), 17, (5, 4), window=Window(padding=(4, 3, 2, 2)))
    # Lines and pixels that see nothing, taps that no pixel sees, between some and beside them.
    yield conv(none, S8, (3, 2, 4), 40, (3, 3), window=Window(padding=(5, 4, 3, 4)), tail=RELU)
    yield conv(none, SUM, (1, 1, 8), 5, (3, 5), window=Window(padding=(1, 2, 1, 2)), tail=None)
    yield conv(least, S8, (6, 5, 4), 20, (3, 2), window=Window((1, 2), (3, 2), (3, 1, 4, 3)))
    yield conv(none, U8, (4, 5, 16), 24, (3, 3), groups=2, tail=BYTE)
    yield conv(none, S8, (6, 7, 6), 9, (3, 3))
    yield conv(none, S8, (9, 1, 20), 31, (3, 1), window=Window((3, 1), padding=(2, 0, 1, 0)))
    yield conv(none, S8, (3, 5, 8), 20, (1, 1))
    yield conv(none, S8, (2, 9, 8), 20, (1, 1), window=Window((2, 1), padding=(3, 1, 0, 0)))
    yield conv(none, S8, (1, 16, 8), 20, (1, 5), window=Window(padding=(0, 4, 0, 4)))
    yield conv(none, S8, (2, 7, 4), 43, (1, 3), window=Window(padding=(2, 1, 1, 0)))


def summed():
    """Products whose results are added to something: an activation, a constant, both."""
    twos, odd = Quantized("uint8", 0.25, 128), Quantized("int8", 0.071, 5)
    relu, none = Tail(128, 128, 255), Window()
    edges = conv(Quantized("uint8", 0.02, 0), S8, (6, 6, 8), 40, (3, 3))
    yield with_sum(edges, U8, odd, tail=Tail(5, -90, 99))
    # Scales of powers of two make halves, whose rounding the order of operations decides.
    plain = conv(U8, Quantized("int8", 0.125, -3), (5, 9, 16), 33, (3, 3))
    yield with_sum(plain, twos, twos, tail=relu)
    yield with_sum(conv(S8, S8, (7, 6, 5), 17, (3, 3), scales=1), U8, odd, tail=Tail(5, -90, 99))
    yield with_sum(conv(U8, U8, (4, 5, 8), 70, (1, 1), window=none, tail=BYTE), S8, U8, tail=BYTE)
    grouped = conv(U8, S8, (4, 5, 6), 10, (3, 3), groups=2)
    yield with_sum(grouped, odd, S8, tail=TAIL)
    yield with_sum(grouped, odd, S8, tail=TAIL, per_channel=True)
    for rows, inputs, outputs in ((1, 40, 129), (9, 33, 10), (16, 64, 96)):
        first = dense(U8, odd, rows=rows, inputs=inputs, outputs=outputs,
                      tail=Tail(5, -100, 120), scales=outputs)  # fmt: skip
        yield with_sum(first, S8, U8, tail=BYTE, constant=outputs == 10)
        biased = with_sum(first, S8, U8, tail=BYTE, per_channel=True)
        yield biased
        yield with_sum(biased, twos, S8, tail=RELU, scale=0.031)


def known_right(workload):
    """The same product of a matrix that is a constant."""
    operands = (replace(o, constant=o.constant or o.name == "x1") for o in workload.operands)
    return replace(workload, operands=tuple(operands))


def channelwise():
    """Depthwise convolutions."""
    strided, holes = Window((2, 2), (1, 1), (0, 0, 1, 1)), Window((1, 3), (2, 2), (2, 2, 2, 2))
    steps = Window((2, 2), (1, 1), (2, 2, 2, 2))
    for channels in (2, 5, 8, 16, 24, 67):
        f = (3, 3)
        yield conv(U8, S8, (6, 7, channels), channels, f, c=1, groups=channels)
        yield conv(S8, U8, (9, 9, channels), channels, f, c=1, groups=channels, window=strided,
                   tail=BYTE, scales=1)  # fmt: skip
    yield conv(S8, S8, (7, 12, 13), 13, (2, 3), c=1, groups=13, window=holes, tail=None)
    yield conv(S8, S8, (7, 12, 13), 13, (2, 3), c=1, groups=13, window=holes, tail=RELU)
    yield conv(U8, U8, (5, 6, 70), 70, (5, 5), c=1, groups=70, window=steps, tail=Tail(9, 9, 201))
    yield conv(U8, S8, (4, 3, 1601), 1601, (1, 1), c=1, groups=1601, window=Window((3, 2)))
    yield conv(U8, S8, (5, 1, 16), 16, (5, 4), c=1, groups=16, window=Window(padding=(4, 2, 0, 1)))
    yield conv(U8, S8, (4, 4, 9), 9, (1, 1), c=1, groups=9, window=Window((2, 2)), dtype="int16")


def pointwise():
    """Elementwise layers, with and without broadcasting."""
    for shape in ((1, 3, 5, 37), (1, 1, 1, 3), (2, 4, 4, 16)):
        same = {"shape": shape, "shape1": shape, "out": shape, "tail": RELU}
        yield elementwise("add", U8, S8, S8, **same)
        yield elementwise("mul", S8, S8, S8, **same)
        rows, columns = shape[0] * shape[1] * shape[2], shape[3]
        yield rowwise("quantize", FLOAT, U8, rows=rows, columns=columns, tail=BYTE)
        yield rowwise("dequantize", S8, FLOAT, rows=rows, columns=columns, tail=None)
    out = {"out": (1, 3, 5, 37), "tail": BYTE}
    yield elementwise("mul", U8, S8, U8, shape=(1, 3, 5, 37), shape1=(1, 1, 1, 37), **out)
    yield elementwise("add", U8, S8, U8, shape=(1, 3, 5, 37), shape1=(1, 3, 5, 1), **out)
    yield elementwise("add", U8, S8, U8, shape=(1, 1, 5, 1), shape1=(1, 3, 1, 37), **out)


def pooled():
    """Pools and softmax: channels and columns around two vectors, windows over the edges."""
    steps = Window((2, 2), (1, 1), (1, 1, 1, 1))
    holes = Window((1, 2), (2, 1), (2, 0, 1, 1), count_include_pad=True)
    image, windows = (2, 5, 6), (((3, 3), steps), ((2, 3), holes), ((5, 6), Window()))
    for at, channels in enumerate((16, 17, 33, 64, 3)):
        for to, (kind, x, y, tail) in enumerate(
            (
                ("max_pool2d", U8, U8, BYTE),
                ("max_pool2d", S8, S8, RELU),
                ("avg_pool2d", S8, U8, BYTE),
                ("avg_pool2d", U8, S8, TAIL),
            )
        ):
            seen, window = windows[(at + to) % 3]
            shape = (*image, channels)
            yield pool2d(kind, x, y, shape=shape, filter_shape=seen, window=window, tail=tail)
    for columns in (1, 10, 16, 37, 64):
        for x in (U8, S8):
            yield rowwise("softmax", x, U8, rows=3, columns=columns, tail=BYTE)
    for rows, columns in (
        (33, 1),
        (16, 37),
        (47, 64),
        (17, 512),
        (31, 515),
    ):  # turned, but for the last
        for x, y in ((U8, S8), (S8, U8)):
            yield rowwise(
                "softmax", x, y, rows=rows, columns=columns, tail=TAIL if y is S8 else BYTE
            )
    for scale in (0.5, 1.5, 4e6):  # tables that end early
        x = Quantized("uint8", scale, 9)
        yield rowwise("softmax", x, U8, rows=16, columns=49, tail=BYTE)
    for rows, columns in ((5, 1030), (9, 1024)):  # more than are kept, and as many
        yield rowwise("softmax", S8, U8, rows=rows, columns=columns, tail=BYTE)


def filtered():
    """3x3 convolutions for minimal filtering: sizes around its tiles, channels around vectors."""
    shapes = (
        ((8, 8, 16), 16), ((7, 13, 17), 31), ((9, 5, 33), 40), ((2, 3, 64), 7), ((1, 1, 32), 64),
        ((6, 1, 35), 5), ((4, 17, 40), 1),
    )  # fmt: skip
    windows = (SAME, Window(), Window(padding=(2, 0, 1, 3)))
    for at, (image, k) in enumerate(shapes):
        window = windows[at % 3 if min(image) > 2 else 0]
        x, y, tail = ((U8, S8, TAIL), (S8, U8, BYTE), (U8, S8, RELU), (S8, SUM, None))[at % 4]
        yield conv(x, y, image, k, (3, 3), window=window, tail=tail, scales=1 + at % 2 * (k - 1))


def filtered_sums():
    """The same, for minimal filtering."""
    for at, w in enumerate(w for w in filtered() if w.tail is not None):
        other, y, tail = ((S8, U8, BYTE), (U8, S8, RELU))[at % 2]
        taken = with_sum(w, other, y, tail=tail, per_channel=at % 3 == 1)
        yield with_sum(taken, U8, U8, tail=BYTE) if at % 3 == 1 else taken


def looked_up():
    """Functions of bytes, as tables."""
    for x, y in ((U8, S8), (S8, U8), (S8, S8)):
        yield table(x, y, elements=261)


def normed():
    """Norms: rows around vectors, more of them than are taken together, zero points at the ends."""
    ends = Quantized("uint8", 0.02, 255), Quantized("int8", 0.004, -128)
    for at, columns in enumerate((1, 3, 16, 31, 64, 65, 130, 512)):
        for rows, kind in ((1, "layer_norm"), (9, "layer_norm"), (10, "rms_norm")):
            x, y, tail = ((U8, S8, TAIL), (S8, U8, BYTE), (S8, S8, RELU))[(at + rows) % 3]
            x = ends[at % 2] if columns % 2 else x
            yield quantised_norm(
                x, y, rows=rows, columns=columns, epsilon=1e-5, tail=tail, kind=kind
            )


def everything():
    found = [*products(), *channelwise(), *pointwise(), *pooled(), *looked_up(), *summed()]
    return [*found, *normed()]
