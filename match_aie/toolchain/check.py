"""Comparing what emitted code computed with the numpy reference, layer by layer.

Integer layers must equal it bit for bit, float32 layers within `workload.TOLERANCE`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from match_aie.errors import ProjectError
from match_aie.toolchain.library import Written
from match_aie.toolchain.record import LayerRecord, Record, StepRecord, element_dtype
from match_aie.workload import Workload, reference, within_tolerance


@dataclass(frozen=True)
class LayerMismatch:
    """A layer whose output is not its reference's, on the inputs it really had.

    Attributes:
        layer: as users know it.
        symbol: its C function.
        count: elements that differ.
        elements: of the output.
        first_index: of the first that differs, per axis of the workload's output.
        got: what the emitted code gave there.
        expected: what the reference gives there.
    """

    layer: str
    symbol: str
    count: int
    elements: int
    first_index: tuple[int, ...]
    got: float
    expected: float


@dataclass(frozen=True)
class Checked:
    """Number of layers compared, and those that differ."""

    layers: int
    mismatches: tuple[LayerMismatch, ...]


def check(
    folder: Path, record: Record, inputs: Mapping[str, np.ndarray], trace: Iterable[Written]
) -> Checked:
    """Compare every layer's output in `trace` with the reference on the layer's actual inputs.

    Args:
        folder: of the project.
        record: its manifest.
        inputs: of the network, by the model's own names.
        trace: what every step wrote, in order.

    Raises:
        ProjectError: a file of constants is too short.
    """
    values = {record.owners[p.tensor]: inputs[p.name].tobytes() for p in record.inputs}
    written: dict[int, dict[str, bytes]] = {}
    for item in trace:
        written.setdefault(item.step, {})[record.tensors[item.tensor].name] = item.data
    mismatches: list[LayerMismatch] = []
    count = 0
    for index, step in enumerate(record.steps):
        now = written.get(index, {})
        if step.layer is not None:
            count += 1
            layer = record.layers[step.layer]
            found = _compare(folder, layer, step, record, values, now[step.writes[0]])
            mismatches += [found] if found else []
        # Only now: a step may have overwritten its own input.
        values |= {record.owners[name]: data for name, data in now.items()}
    return Checked(count, tuple(mismatches))


def _compare(
    folder: Path,
    layer: LayerRecord,
    step: StepRecord,
    record: Record,
    values: Mapping[str, bytes],
    data: bytes,
) -> LayerMismatch | None:
    workload = layer.workload
    arrays = [
        _array(values[record.owners[name]], operand.dtype, operand.shape)
        for name, operand in zip(step.reads, workload.inputs, strict=True)
    ]
    expected = reference(workload, arrays, layer_constants(folder, layer))
    got = _array(data, workload.output.dtype, workload.output.shape)
    wrong = np.flatnonzero(_differ(workload, got, expected))
    if not wrong.size:
        return None
    first = int(wrong[0])
    return LayerMismatch(
        layer.name,
        layer.symbol,
        int(wrong.size),
        expected.size,
        tuple(int(i) for i in np.unravel_index(first, expected.shape)),
        float(got.reshape(-1)[first]),
        float(expected.reshape(-1)[first]),
    )


def _differ(workload: Workload, got: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Per element, whether it is wrong."""
    if workload.real is not None:
        return ~within_tolerance(got, expected)
    # As integers: -0.0 and 0.0 are different bits, a NaN equals itself.
    bits = np.dtype(f"u{expected.dtype.itemsize}")
    return np.asarray(got.reshape(-1).view(bits) != expected.reshape(-1).view(bits))


def _array(data: bytes, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    kind = element_dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    return np.frombuffer(data, dtype=kind, count=count).reshape(shape)


def layer_constants(folder: Path, layer: LayerRecord) -> dict[str, np.ndarray]:
    """Constants of `layer` by operand name, as `workload.reference` reads them.

    Raises:
        ProjectError: a file is missing or too short.
    """
    constants = {}
    for name, at in layer.constants:
        kind = element_dtype(at.dtype)
        count = int(np.prod(at.shape, dtype=np.int64))
        try:
            with (folder / at.file).open("rb") as file:
                file.seek(at.offset)
                data = file.read(count * kind.itemsize)
            constants[name] = np.frombuffer(data, dtype=kind, count=count).reshape(at.shape)
        except (OSError, ValueError) as error:
            raise ProjectError(
                f"constant {name} of layer {layer.symbol} cannot be read: {error}",
                where=str(folder / at.file),
                hint="compile the model again",
            ) from error
    return constants
