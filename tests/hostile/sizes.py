"""Bombs of size: few bytes in the file, very many in memory."""

from __future__ import annotations

import random
from collections.abc import Iterator

import numpy as np

from tests.hostile.building import (
    BOOL,
    FLOAT,
    INT8,
    INT64,
    case,
    hollow,
    ints,
    model,
    node,
    value,
)
from tests.hostile.case import Case, of_bytes


def declared(rng: random.Random) -> Iterator[Case]:
    """Tensors that are stated to be huge."""
    huge = (
        [2**62],
        [2**31, 2**31],
        [2**32, 2**32],
        [1, 2**40, 2**40],
        [2**63 - 1],
        [10**9, 10],
        [1, 2**16, 2**16],
    )
    for shape in huge:
        label = "x".join(map(str, shape))
        relu = [node("Relu", ["x"], ["y"])]
        port = value("x", shape)
        yield case(f"input_{label}", relu, inputs=[port], outputs=[value("y", shape)])
        yield case(f"hollow_{label}", [node("Add", ["x", "w"], ["y"])], {"w": hollow("w", shape)})
        small = [value("x", [1, 4])]
        yield case(f"output_{label}", relu, inputs=small, outputs=[value("y", shape)])
    dims = [rng.randrange(2**20, 2**40) for _ in range(3)]
    yield case("input_random", [node("Relu", ["x"], ["y"])], inputs=[value("x", dims)])
    inner = model([node("Relu", ["x"], ["v"]), node("Neg", ["v"], ["y"])])
    inner.graph.value_info.append(value("v", [2**62]))
    yield of_bytes("value_info", inner.SerializeToString())
    kinds = {"bool": BOOL, "int8": INT8, "int64": INT64}
    for name, kind in kinds.items():
        port = value("x", [2**35], kind)
        yield case(f"input_{name}", [node("Identity", ["x"], ["y"])], inputs=[port])
    for shape in ([0], [0, 2**62], [-1], [-5, 4], [-(2**63)]):
        label = "x".join(map(str, shape))
        yield case(f"input_{label}", [node("Relu", ["x"], ["y"])], inputs=[value("x", shape)])
        yield case(f"stored_{label}", [node("Add", ["x", "w"], ["y"])], {"w": hollow("w", shape)})
    rank = [value("x", [1] * 5000)]
    yield case("rank_5000", [node("Relu", ["x"], ["y"])], inputs=rank)
    yield case("rank_64", [node("Relu", ["x"], ["y"])], inputs=[value("x", [2] * 64)])


def computed(rng: random.Random) -> Iterator[Case]:
    """Activations that shape arithmetic makes huge."""
    big = rng.choice((2**31, 2**33, 10**10))
    column, row = value("x", [2**20, 1]), value("z", [1, 2**20])
    for op in ("Add", "MatMul", "Greater", "Max"):
        yield case(f"outer_{op}", [node(op, ["x", "z"], ["y"])], inputs=[column, row])
    image = [value("x", [1, 1, 2**20, 2**20])]
    weights = {"w": np.ones((1, 1, 3, 3), np.float32)}
    yield case("conv_of_2_40", [node("Conv", ["x", "w"], ["y"])], weights, inputs=image)
    yield case("expand", [node("Expand", ["x", "n"], ["y"])], {"n": ints(big, 4)})
    yield case("tile", [node("Tile", ["x", "n"], ["y"])], {"n": ints(big, big)})
    yield case("tile_overflow", [node("Tile", ["x", "n"], ["y"])], {"n": ints(2**62, 2**62)})
    yield case("pad", [node("Pad", ["x", "n"], ["y"])], {"n": ints(0, big, 0, big)})
    yield case("pad_minus", [node("Pad", ["x", "n"], ["y"])], {"n": ints(0, -(2**62), 0, 0)})
    yield case("reshape", [node("Reshape", ["x", "n"], ["y"])], {"n": ints(2**62, 4)})
    yield case("reshape_minus", [node("Reshape", ["x", "n"], ["y"])], {"n": ints(-1, -1)})
    resized = [value("x", [1, 1, 4, 4])]
    for scale in (1e9, 3e38, float("inf"), float("nan"), 0.0, -1.0):
        scales = {"s": np.array([1, 1, scale, scale], np.float32)}
        upscale = [node("Resize", ["x", "", "s"], ["y"])]
        yield case(f"resize_{scale}", upscale, scales, inputs=resized)
    sizes = {"n": ints(1, 1, big, big)}
    yield case("resize_sizes", [node("Resize", ["x", "", "", "n"], ["y"])], sizes, inputs=resized)
    arithmetic = [
        node("Shape", ["x"], ["s"]),
        *(node("Mul", ["s" if i == 0 else f"m{i - 1}"] * 2, [f"m{i}"]) for i in range(6)),
        node("ConstantOfShape", ["m5"], ["c"]),
        node("Add", ["c", "x"], ["y"]),
    ]
    yield case("squared_shapes", arithmetic)
    up = {"w": np.ones((1, 1, 2, 2), np.float32)}
    stretched = [node("ConvTranspose", ["x", "w"], ["y"], strides=[2**30, 2**30])]
    yield case("conv_transpose", stretched, up, inputs=resized)
    hot = {"d": ints(big), "v": np.array([0, 1], np.float32)}
    one = [value("x", [8], INT64)]
    yield case("onehot_run_time", [node("OneHot", ["x", "d", "v"], ["y"])], hot, inputs=one)
    blocks = [node("DepthToSpace", ["x"], ["y"], blocksize=2**31)]
    yield case("depth_to_space", blocks, inputs=resized)
    columns = [node("Gather", ["x", "i"], ["y"])]
    yield case("gather_hollow", columns, {"i": hollow("i", [2**40], INT64)})


def constants(rng: random.Random) -> Iterator[Case]:
    """Constants of 10**8 elements and more, out of a few bytes."""
    count = rng.choice((10**8, 1 << 27, 3 * 10**8))
    one = np.ones((1, 1), np.float32)
    square = int(count**0.5) + 1
    makers = {
        "tile": (node("Tile", ["a", "n"], ["c"]), {"a": one, "n": ints(1, count)}),
        "expand": (node("Expand", ["a", "n"], ["c"]), {"a": one, "n": ints(1, count)}),
        "pad": (node("Pad", ["a", "n"], ["c"]), {"a": one, "n": ints(0, 0, 0, count)}),
        "constant_of_shape": (node("ConstantOfShape", ["n"], ["c"]), {"n": ints(1, count)}),
        "range": (
            node("Range", ["a", "n", "d"], ["c"]),
            {"a": np.int64(0), "n": np.int64(count), "d": np.int64(1)},
        ),
        "range_zero": (
            node("Range", ["a", "n", "d"], ["c"]),
            {"a": np.float32(0), "n": np.float32(1), "d": np.float32(0)},
        ),
        "range_tiny": (
            node("Range", ["a", "n", "d"], ["c"]),
            {"a": np.float32(0), "n": np.float32(1), "d": np.float32(1e-30)},
        ),
        "range_nan": (
            node("Range", ["a", "n", "d"], ["c"]),
            {"a": np.float32(0), "n": np.float32("nan"), "d": np.float32(1)},
        ),
        "one_hot": (
            node("OneHot", ["a", "n", "v"], ["c"]),
            {"a": ints(*range(100)), "n": ints(count // 100), "v": ints(0, 1)},
        ),
        "resize": (
            node("Resize", ["a", "", "", "n"], ["c"]),
            {"a": one.reshape(1, 1, 1, 1), "n": ints(1, 1, square, square)},
        ),
        "matmul": (
            node("MatMul", ["a", "b"], ["c"]),
            {"a": np.ones((square, 1), np.float32), "b": np.ones((1, square), np.float32)},
        ),
        "add": (
            node("Add", ["a", "b"], ["c"]),
            {"a": np.ones((square, 1), np.float32), "b": np.ones((1, square), np.float32)},
        ),
        "where": (
            node("Where", ["p", "a", "b"], ["c"]),
            {
                "p": np.ones((square, 1), bool),
                "a": np.ones((1, square), np.float32),
                "b": np.ones((1, 1), np.float32),
            },
        ),
        "gather": (
            node("Gather", ["a", "n"], ["c"]),
            {"a": np.ones((1, square), np.float32), "n": np.zeros(square, np.int64)},
        ),
        "conv": (
            node("Conv", ["a", "b"], ["c"], pads=[square // 2] * 4),
            {"a": np.ones((1, 1, 1, 1), np.float32), "b": np.ones((1, 1, 1, 1), np.float32)},
        ),
    }
    for name, (maker, held) in makers.items():
        largest = node("ReduceMax", ["c"], ["m"], keepdims=0)
        to_float = node("Cast", ["m"], ["f"], to=FLOAT)
        add = node("Add", ["x", "f"], ["y"])
        yield case(f"reduced_{name}", [maker, largest, to_float, add], held)
        yield case(f"output_of_{name}", [maker, node("Identity", ["c"], ["y"])], held)
    eye = hollow("e", [square, square])
    eye_like = [node("EyeLike", ["e"], ["c"]), node("ReduceSum", ["c"], ["y"])]
    yield case("eye_like_hollow", eye_like, {"e": eye})
    shape = {"n": ints(square, square)}
    made = [node("ConstantOfShape", ["n"], ["e"]), *eye_like]
    yield case("eye_like", made, shape)
    doubled = [node("Concat", ["a", "a"], ["v0"], axis=0)]
    doubled += [node("Concat", [f"v{i}"] * 2, [f"v{i + 1}"], axis=0) for i in range(60)]
    doubled += [node("Identity", ["v60"], ["y"])]
    yield case("doubling_constants", doubled, {"a": ints(1, 2)})
    thrice = [node("Tile", ["a", "n"], ["v0"])]
    thrice += [node("Tile", [f"v{i}", "n"], [f"v{i + 1}"]) for i in range(40)]
    thrice += [node("Identity", ["v40"], ["y"])]
    yield case("tripling_constants", thrice, {"a": ints(1), "n": ints(3)})
    many = [node("Constant", [], [f"k{i}"], value=hollow(f"k{i}", [10**8])) for i in range(20)]
    yield case("hollow_constants", [*many, node("Sum", [f"k{i}" for i in range(20)], ["y"])])
    wide = [node("ConstantOfShape", ["n"], [f"k{i}"]) for i in range(200)]
    wide += [node("Sum", [f"k{i}" for i in range(200)], ["y"])]
    yield case("many_constants", wide, {"n": ints(5 * 10**6)})


def doubling(_rng: random.Random) -> Iterator[Case]:
    """Graphs whose values grow with every node."""
    for op, options in (("Concat", {"axis": 1}), ("Concat", {"axis": 0})):
        nodes = [node(op, [f"v{i}"] * 2, [f"v{i + 1}"], **options) for i in range(60)]
        ends = [node("Identity", ["x"], ["v0"]), *nodes, node("Identity", ["v60"], ["y"])]
        yield case(f"doubling_axis_{options['axis']}", ends)
    outer = [node("Identity", ["x"], ["v0"])]
    for i in range(30):
        outer.append(node("Unsqueeze", [f"v{i}", "first"], [f"a{i}"]))
        outer.append(node("Expand", [f"a{i}", "two"], [f"b{i}"]))
        outer.append(node("Flatten", [f"b{i}"], [f"v{i + 1}"], axis=0))
    outer.append(node("Identity", ["v30"], ["y"]))
    yield case("doubling_expand", outer, {"first": ints(0), "two": ints(4, 1, 1)})
    reduced = [node("Identity", ["x"], ["v0"])]
    reduced += [node("Concat", [f"v{i}"] * 2, [f"v{i + 1}"], axis=1) for i in range(20)]
    reduced += [node("ReduceMax", ["v20"], ["y"])]
    yield case("doubling_20", reduced)
