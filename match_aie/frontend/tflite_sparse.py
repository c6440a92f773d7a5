"""Weights that a TFLite file stores without their zeros.

The schema (`SparsityParameters`) walks a tensor's dimensions in an order of its own; behind them
may come dimensions within blocks. Each is dense, or lists the places that are there (CSR).
"""

from __future__ import annotations

from math import prod
from typing import Any

import numpy as np
import tflite

#: Format of a dimension that lists its places.
_CSR = 1
#: What holds the numbers of a CSR dimension, by the type that the file states.
_VECTORS = {1: tflite.Int32Vector, 2: tflite.Uint16Vector, 3: tflite.Uint8Vector}


def densified(tensor: Any, values: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """The whole tensor, of the elements that are stored, in the order of the file.

    Args:
        tensor: of the schema, with a `Sparsity`.
        values: [stored elements].

    Raises:
        ValueError: the description fits neither the shape nor the elements.
    """
    sparsity, shape = tensor.Sparsity(), [tensor.Shape(i) for i in range(tensor.ShapeLength())]
    order = [sparsity.TraversalOrder(i) for i in range(sparsity.TraversalOrderLength())]
    blocks = [sparsity.BlockMap(i) for i in range(sparsity.BlockMapLength())]
    if sorted(order) != list(range(len(shape) + len(blocks))):
        raise ValueError("the order names other dimensions than there are")
    if sparsity.DimMetadataLength() != len(order) or any(
        b not in range(len(shape)) for b in blocks
    ):
        raise ValueError("the dimensions are not described one by one")
    places = np.zeros((1, 0), np.int64)
    sizes: dict[int, int] = {}
    for level, dim in enumerate(order):
        described = sparsity.DimMetadata(level)
        sizes[dim] = described.DenseSize()
        places = _deeper(places, described, prod(shape))
    if len(places) != len(values):
        raise ValueError("more places than elements, or fewer")
    at = {dim: places[:, level] for level, dim in enumerate(order)}
    coordinates = [at[dim] for dim in range(len(shape))]
    for number, dim in enumerate(blocks):
        inner = len(shape) + number
        coordinates[dim] = coordinates[dim] * sizes[inner] + at[inner]
    if any(((c < 0) | (c >= size)).any() for c, size in zip(coordinates, shape, strict=True)):
        raise ValueError("a place outside the tensor")
    dense = np.zeros(shape, values.dtype)
    dense[tuple(coordinates)] = values
    return dense


def _deeper(places: np.ndarray[Any, Any], described: Any, most: int) -> np.ndarray[Any, Any]:
    """The places with one more coordinate each: [places, levels] to [more places, levels + 1]."""
    if described.Format() != _CSR:
        count = described.DenseSize()
        if count < 1 or len(places) * count > most:
            raise ValueError("a dense dimension of more elements than the tensor has")
        column = np.tile(np.arange(count), len(places))
        return np.column_stack([np.repeat(places, count, axis=0), column])
    segments = _numbers(described.ArraySegments(), described.ArraySegmentsType())
    column = _numbers(described.ArrayIndices(), described.ArrayIndicesType())
    counts = np.diff(segments)
    if len(counts) != len(places) or (counts < 0).any() or counts.sum() != len(column):
        raise ValueError("segments that do not fit each other")
    return np.column_stack([np.repeat(places, counts, axis=0), column])


def _numbers(table: Any, kind: int) -> np.ndarray[Any, Any]:
    """The numbers of a vector of any of the three types."""
    if table is None or kind not in _VECTORS:
        raise ValueError("a list of places is missing")
    vector = _VECTORS[kind]()
    vector.Init(table.Bytes, table.Pos)
    return np.array([vector.Values(i) for i in range(vector.ValuesLength())], np.int64)
