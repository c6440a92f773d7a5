"""Operators that move and pick elements in Relay, against numpy."""

import numpy as np
from relay_harness import Sheet, needs_compiler

pytestmark = needs_compiler

RNG = np.random.default_rng(13)
X = RNG.integers(-128, 128, (2, 3, 4, 6)).astype(np.int8)
F = RNG.uniform(-1, 1, (1, 2, 4, 3)).astype(np.float32)


def test_shapes(tmp_path):
    sheet = Sheet({"x": X, "one": X[:1, :, :1]})
    for codes, shape in {
        "[2, -1]": (2, 72),
        "[0, 0, -1]": (2, 3, 24),
        "[-1]": (144,),
        "[-2]": X.shape,
        "[6, -2]": (6, 3, 4, 6),
        "[-3, -2]": (6, 4, 6),
        "[0, -3, 0]": (2, 12, 6),
        "[-4, 1, 2, -2]": (1, 2, 3, 4, 6),
        "[0, 0, -4, -1, 2, 0]": (2, 3, 2, 2, 6),
        "[0, -4, 3, -1, -2]": (2, 3, 1, 4, 6),
        "[1, 0, 0, 8, 6]": None,
    }.items():
        if shape is not None and np.prod(shape) == X.size:
            sheet.check(f"reshape(%x, newshape={codes})", X.reshape(shape))
    assert len(sheet.wanted) == 9
    sheet.check("reshape_like(%x, transpose(%x))", X.reshape(6, 4, 3, 2))
    sheet.check("nn.batch_flatten(%x)", X.reshape(2, -1))
    sheet.check("squeeze(%one)", X[0, :, 0])
    sheet.check("squeeze(%one, axis=[-2])", X[:1, :, 0])
    sheet.check("expand_dims(%x, axis=-1, num_newaxis=2)", X[..., None, None])
    sheet.check("expand_dims(%x, axis=1)", X[:, None])
    sheet.check("transpose(%x, axes=[0, 2, 3, 1])", X.transpose(0, 2, 3, 1))
    sheet.check("transpose(%x)", X.T)
    sheet.check(
        'layout_transform(%x, src_layout="NCHW", dst_layout="NHWC")', X.transpose(0, 2, 3, 1)
    )
    blocked = X.reshape(2, 3, 4, 3, 2).transpose(0, 1, 3, 2, 4)
    name = sheet.bind('layout_transform(%x, src_layout="NCHW", dst_layout="NCWH2w")')
    sheet.check(name, blocked)
    sheet.check(f'layout_transform({name}, src_layout="NCWH2w", dst_layout="NCHW")', X)
    sheet.check("concatenate((%x, %x, negative(%x)), axis=1)", np.concatenate([X, X, -X], 1))
    sheet.check("stack((%x, %x), axis=-1)", np.stack([X, X], -1))
    parts = sheet.bind("split(%x, indices_or_sections=3, axis=3)")
    for index, part in enumerate(np.split(X, 3, 3)):
        sheet.check(f"{parts}.{index}", part)
    parts = sheet.bind("split(%x, indices_or_sections=[1, 4], axis=-1)")
    for index, part in enumerate(np.split(X, [1, 4], -1)):
        sheet.check(f"{parts}.{index}", part)
    sheet.check(
        "nn.pad(%x, -7i8, pad_width=[[0, 0], [1, 0], [2, 1], [0, 3]])",
        np.pad(X, [(0, 0), (1, 0), (2, 1), (0, 3)], constant_values=-7),
    )
    sheet.check(
        'nn.pad(%x, 0, pad_width=[[0, 0], [0, 0], [1, 1], [1, 1]], pad_mode="edge")',
        np.pad(X, [(0, 0), (0, 0), (1, 1), (1, 1)], "edge"),
    )
    sheet.check(
        'nn.pad(%x, 0, pad_width=[[0, 0], [0, 0], [1, 2], [2, 1]], pad_mode="reflect")',
        np.pad(X, [(0, 0), (0, 0), (1, 2), (2, 1)], "reflect"),
    )
    sheet.check("broadcast_to(%one, shape=[2, 3, 4, 6])", np.broadcast_to(X[:1, :, :1], X.shape))
    sheet.check("tile(%x, reps=[1, 2, 1, 1])", np.tile(X, (1, 2, 1, 1)))
    sheet.check("repeat(%x, repeats=2, axis=1)", X.repeat(2, 1))
    sheet.check("reverse(%x, axis=2)", X[:, :, ::-1])
    sheet.check('add(%x, full(3, shape=[6], dtype="int8"))', X + np.int8(3))
    sheet.check("add(%x, ones_like(%x))", X + np.int8(1))
    sheet.check(
        "nn.space_to_depth(%x, block_size=2)",
        X.reshape(2, 3, 2, 2, 3, 2).transpose(0, 3, 5, 1, 2, 4).reshape(2, 12, 2, 3),
    )
    sheet.verify(tmp_path)


def nearest(x, rows, columns):
    r = np.floor(np.arange(rows) * x.shape[2] / rows).astype(int)
    c = np.floor(np.arange(columns) * x.shape[3] / columns).astype(int)
    return x[:, :, r][..., c]


def bilinear(x, rows, columns):
    """Half-pixel coordinates, clamped at the edge."""

    def along(v, axis, size):
        at = np.clip((np.arange(size) + 0.5) * v.shape[axis] / size - 0.5, 0, v.shape[axis] - 1)
        low = np.floor(at).astype(int)
        high = np.minimum(low + 1, v.shape[axis] - 1)
        share = (at - low).reshape([-1 if i == axis else 1 for i in range(v.ndim)])
        return v.take(low, axis) * (1 - share) + v.take(high, axis) * share

    return along(along(x.astype(np.float64), 2, rows), 3, columns).astype(np.float32)


def test_picking(tmp_path):
    indices = np.array([[2, 0], [1, 1]], np.int32)
    order = RNG.integers(0, 4, (2, 3, 2, 6)).astype(np.int64)
    pairs = np.array([[0, 1, 1], [2, 0, 1]], np.int32)
    sheet = Sheet({"x": X, "indices": indices, "order": order, "pairs": pairs, "f": F})
    sheet.check("strided_slice(%x, begin=[0, 1], end=[2, 3], strides=[1])", X[0:2, 1:3])
    sheet.check(
        "strided_slice(%x, begin=[0, 0, 3, -1], end=[2, 3, -5, 1], strides=[1, 2, -1, -2])",
        X[0:2, 0:3:2, 3::-1, -1:1:-2],
    )
    sheet.check(
        'strided_slice(%x, begin=[1, 2], end=[-1, 3], strides=[1], slice_mode="size", axes=[2, 3])',
        X[:, :, 1:, 2:5],
    )
    sheet.check(
        "strided_slice(%x, begin=[0], end=[2147483647], strides=[2], axes=[-1])", X[..., ::2]
    )
    sheet.check("slice_like(%x, %f, axes=[2, 3])", X[:, :, :4, :3])
    sheet.check("take(%x, %indices, axis=1)", X.take(indices, 1))
    sheet.check("take(%x, %indices)", X.reshape(-1).take(indices))
    sheet.check("take(%x, multiply(%indices, 5), axis=1)", X.take(np.clip(indices * 5, 0, 2), 1))
    sheet.check('take(%x, multiply(%indices, 5), axis=1, mode="wrap")', X.take(indices * 5 % 3, 1))
    sheet.check("take(%x, 1, axis=1)", X[:, 1])
    sheet.check("gather(%x, %order, axis=2)", np.take_along_axis(X, order, 2))
    sheet.check("gather_nd(%x, %pairs)", X[pairs[0], pairs[1]])
    sheet.check(
        'one_hot(%indices, 1f, 0f, depth=3, axis=-1, dtype="float32")',
        np.eye(3, dtype=np.float32)[indices],
    )
    sheet.check(
        'image.resize2d(%f, size=[8, 9], roi=[0f, 0f, 0f, 0f], method="nearest_neighbor", '
        'coordinate_transformation_mode="asymmetric", rounding_method="floor")',
        nearest(F, 8, 9),
    )
    sheet.check(
        'image.resize2d(%f, size=[8, 9], roi=[0f, 0f, 0f, 0f], method="linear")',
        bilinear(F, 8, 9),
        1e-5,
    )
    sheet.check(
        'image.resize2d(transpose(%f, axes=[0, 2, 3, 1]), size=[2, 7], layout="NHWC")',
        bilinear(F, 2, 7).transpose(0, 2, 3, 1),
        1e-5,
    )
    sheet.check("nn.upsampling(%f, scale_h=2f, scale_w=3f)", F.repeat(2, 2).repeat(3, 3))
    sheet.verify(tmp_path)
