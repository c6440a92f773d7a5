"""The sizes of a run, from the shapes of its inputs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

import numpy as np

from match_aie.codegen.port import PortRecord
from match_aie.errors import OptionError, shorten
from match_aie.lowering import Tensor
from match_aie.toolchain.record import LayerRecord, Record
from match_aie.workload.codec import from_json
from match_aie.workload.extent import Extent, Size, at, mapped

Shaped = TypeVar("Shaped", PortRecord, Tensor)


def of_run(record: Record, inputs: object) -> Record:
    """`record` with the shapes of a run on `inputs`; as it is where no run gives sizes.

    What is no array of a known input, or has another number of axes, is left to `match_inputs`.

    Raises:
        OptionError: a size out of its range, or two inputs that disagree about one.
    """
    if not record.sizes:
        return record
    arrays = inputs if isinstance(inputs, Mapping) else {record.inputs[0].name: inputs}
    found: dict[int, tuple[int, str]] = {}
    for port in record.inputs:
        array = arrays.get(port.name)
        if isinstance(array, np.ndarray) and array.ndim == len(port.shape):
            _note(port, array.shape, record.sizes, found)
    values = [found.get(index, (size.high, ""))[0] for index, size in enumerate(record.sizes)]
    return record_at(record, values)


def named(record: Record, sizes: Mapping[str, int] | None) -> Record:
    """`record` with the shapes of a run of these `sizes`, by name; those left out are the largest.

    Raises:
        OptionError: no such size, or one out of its range.
    """
    if not sizes:
        return record
    known = {size.name: size for size in record.sizes}
    for name, value in sizes.items():
        if name not in known:
            raise OptionError(
                f"the network has no size {shorten(name, 60)!r}",
                hint="its sizes are " + (", ".join(known) or "all fixed"),
            )
        _within(known[name], value, "")
    return record_at(record, [sizes.get(size.name, size.high) for size in record.sizes])


def _within(size: Size, value: int, where: str) -> None:
    if not size.low <= value <= size.high:
        raise OptionError(
            f"{size.name} is {value}, the network takes {size.low} to {size.high}",
            where=where,
            hint="another range needs the model compiled again",
        )


def _note(
    port: PortRecord, shape: Sequence[int], sizes: Sequence[Size], found: dict[int, tuple[int, str]]
) -> None:
    """Note the sizes that axes of one input have.

    Args:
        port: the input.
        shape: of its array.
        sizes: of the network.
        found: by position in `sizes`, the value and where it was found; noted there.
    """
    for axis, (extent, value) in enumerate(zip(port.extents, shape, strict=False)):
        index = _size_alone(extent)
        if index is None:
            continue
        size, where = sizes[index], f"input {shorten(port.name, 60)}, axis {axis}"
        _within(size, value, where)
        other, there = found.setdefault(index, (value, where))
        if other != value:
            raise OptionError(f"{size.name} is {value} here and {other} at {there}", where=where)


def _size_alone(extent: object) -> int | None:
    """Which size an axis is; None where it is none, or something made of it."""
    if not isinstance(extent, Extent) or len(extent.terms) != 1:
        return None
    powers, factor = extent.terms[0]
    return powers.index(1) if factor == 1 and sum(powers) == 1 else None


def record_at(record: Record, values: Sequence[int]) -> Record:
    """`record` with the shapes that tensors, ports and layers have where sizes are `values`."""
    layers = {symbol: _layer(layer, values) for symbol, layer in record.layers.items()}
    return replace(
        record,
        inputs=tuple(_shaped(port, values) for port in record.inputs),
        outputs=tuple(_shaped(port, values) for port in record.outputs),
        tensors=tuple(_shaped(tensor, values) for tensor in record.tensors),
        layers=layers,
        values=tuple(values),
        largest=record,
    )


def _shaped(one: Shaped, values: Sequence[int]) -> Shaped:
    if not one.extents:
        return one
    return replace(one, shape=tuple(at(extent, values) for extent in one.extents))


def _layer(layer: LayerRecord, values: Sequence[int]) -> LayerRecord:
    if layer.sized is None:
        return layer
    workload = from_json(mapped(layer.sized, lambda extent: extent.at(values)))
    return replace(layer, workload=workload)
