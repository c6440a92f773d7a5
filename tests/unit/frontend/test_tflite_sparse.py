"""Weights that TFLite files store without their zeros."""

import flatbuffers
import numpy as np
import pytest
import tflite

from match_aie.frontend.tflite_sparse import densified


def numbers(builder, values):
    """A vector of int32 in a table of its own."""
    tflite.Int32VectorStartValuesVector(builder, len(values))
    for value in reversed(values):
        builder.PrependInt32(int(value))
    vector = builder.EndVector()
    tflite.Int32VectorStart(builder)
    tflite.Int32VectorAddValues(builder, vector)
    return tflite.Int32VectorEnd(builder)


def integers(builder, start, values):
    start(builder, len(values))
    for value in reversed(values):
        builder.PrependInt32(value)
    return builder.EndVector()


def dimension(builder, described):
    """A dense dimension of a size, or the segments and places of a sparse one."""
    lists = () if isinstance(described, int) else [numbers(builder, v) for v in described]
    tflite.DimensionMetadataStart(builder)
    if lists:
        tflite.DimensionMetadataAddFormat(builder, 1)
        tflite.DimensionMetadataAddArraySegmentsType(builder, 1)
        tflite.DimensionMetadataAddArraySegments(builder, lists[0])
        tflite.DimensionMetadataAddArrayIndicesType(builder, 1)
        tflite.DimensionMetadataAddArrayIndices(builder, lists[1])
    else:
        tflite.DimensionMetadataAddDenseSize(builder, described)
    return tflite.DimensionMetadataEnd(builder)


def stored(shape, order, dimensions, blocks=()):
    """A tensor of this shape and sparsity."""
    builder = flatbuffers.Builder(256)
    made = [dimension(builder, described) for described in dimensions]
    tflite.SparsityParametersStartDimMetadataVector(builder, len(made))
    for offset in reversed(made):
        builder.PrependUOffsetTRelative(offset)
    metadata = builder.EndVector()
    walk = integers(builder, tflite.SparsityParametersStartTraversalOrderVector, order)
    block = integers(builder, tflite.SparsityParametersStartBlockMapVector, blocks)
    tflite.SparsityParametersStart(builder)
    tflite.SparsityParametersAddTraversalOrder(builder, walk)
    tflite.SparsityParametersAddBlockMap(builder, block)
    tflite.SparsityParametersAddDimMetadata(builder, metadata)
    sparsity = tflite.SparsityParametersEnd(builder)
    sizes = integers(builder, tflite.TensorStartShapeVector, shape)
    tflite.TensorStart(builder)
    tflite.TensorAddShape(builder, sizes)
    tflite.TensorAddSparsity(builder, sparsity)
    builder.Finish(tflite.TensorEnd(builder))
    return tflite.Tensor.GetRootAs(bytes(builder.Output()), 0)


def compressed(rows):
    """Segments, places and elements of a table of rows."""
    places = [np.flatnonzero(row) for row in rows]
    segments = np.cumsum([0, *map(len, places)])
    return segments, np.concatenate(places), rows[rows != 0]


@pytest.mark.parametrize("turned", [False, True])
def test_rows_and_columns(turned):
    table = np.random.default_rng(1).integers(-1, 2, (4, 5)).astype(np.float16)
    walked = table.T if turned else table
    segments, places, values = compressed(walked)
    order = [1, 0] if turned else [0, 1]
    tensor = stored(table.shape, order, [len(walked), (segments, places)])
    np.testing.assert_array_equal(densified(tensor, values), table)


def test_blocks_that_are_stored_whole():
    table = np.zeros((4, 6), np.int8)
    table[2:4, 2:4], table[0:2, 4:6] = [[1, 2], [3, 4]], [[5, 0], [7, 8]]
    tensor = stored(table.shape, [0, 1, 2, 3], [2, ([0, 1, 2], [2, 1]), 2, 2], blocks=[0, 1])
    values = np.array([5, 0, 7, 8, 1, 2, 3, 4], np.int8)
    np.testing.assert_array_equal(densified(tensor, values), table)


@pytest.mark.parametrize(
    ("order", "dimensions", "count"),
    [
        ([0, 0], [4, ([0, 1, 1, 1, 1], [0])], 1),
        ([0, 1], [4, ([0, 1, 1, 1], [0])], 1),
        ([0, 1], [4, ([0, 2, 1, 1, 1], [0])], 1),
        ([0, 1], [4, ([0, 1, 1, 1, 1], [5])], 1),
        ([0, 1], [4, ([0, 1, 1, 1, 1], [0])], 2),
        ([0, 1], [1 << 30, ([0, 1], [0])], 1),
        ([0, 1], [4], 4),
    ],
)
def test_what_contradicts_itself_is_refused(order, dimensions, count):
    with pytest.raises(ValueError, match=r"\w"):
        densified(stored((4, 5), order, dimensions), np.ones(count, np.float32))
