"""Comparing what emitted code computed with the numpy reference, layer by layer.

Integer layers must equal it bit for bit. Every element of a float32 layer must be within a bound of
its own that follows from what it sums (`workload.real_bound`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from match_aie.errors import ProjectError
from match_aie.toolchain.library import Written
from match_aie.toolchain.record import (
    LayerRecord,
    Members,
    OriginalRecord,
    Record,
    StepRecord,
    element_dtype,
)
from match_aie.toolchain.walk import Storages, walk
from match_aie.workload import Operand, lost_sums, real_expected, reference, turns_of
from match_aie.workload.running import share, wrong


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
class Deviation:
    """How far a layer in a module's own arithmetic is from the model's, on the same inputs.

    Attributes:
        layer: as users know it.
        symbol: its C function.
        max_lsb: largest difference, in integer steps of its output; measured.
        error_lsb: proven bound of what the two arithmetics round; stored integers differ by at
            most floor(error_lsb) + 1.
    """

    layer: str
    symbol: str
    max_lsb: int
    error_lsb: float


@dataclass(frozen=True)
class Closeness:
    """How close a float32 layer is to its reference, on the inputs it really had.

    Attributes:
        layer: as users know it.
        symbol: its C function.
        bound_used: the largest part of its bound that the error of any element takes: at most 1
            where the layer is right; infinite where an element that has no error at all (a
            maximum) is off.
        max_abs: largest absolute difference.
    """

    layer: str
    symbol: str
    bound_used: float
    max_abs: float


@dataclass(frozen=True)
class RoundedSums:
    """A layer whose reference rounds sums that wait, as its mapping does; and what that loses.

    Attributes:
        layer: as users know it.
        symbol: its C function.
        turns: in which a tile sums up; with one nothing is rounded.
        mean: difference from exact sums on the inputs it really had, in steps (`Lost`); measured.
        largest: likewise.
    """

    layer: str
    symbol: str
    turns: int
    mean: float
    largest: float


@dataclass(frozen=True)
class Checked:
    """What was compared, and what differs.

    Attributes:
        layers: number of layers compared.
        mismatches: those that differ by more than they may.
        deviations: those in an arithmetic of their own.
        floats: those in float32, and those in bfloat16 beside the float32 layer that they stand
            for; all but the float32 ones were compared bit for bit.
        rounded: those whose partial sums are rounded while they wait.
    """

    layers: int
    mismatches: tuple[LayerMismatch, ...]
    deviations: tuple[Deviation, ...] = ()
    floats: tuple[Closeness, ...] = ()
    rounded: tuple[RoundedSums, ...] = ()


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
        ProjectError: a file of constants is too short, or the manifest says something else of the
            tensors than the code.
    """
    try:
        return _check(folder, record, inputs, trace)
    except (ValueError, KeyError, IndexError) as error:
        raise ProjectError(
            f"the code and match_aie.json do not agree: {type(error).__name__}: {error}",
            where=str(folder),
            hint="compile the model again",
        ) from error


def _check(
    folder: Path, record: Record, inputs: Mapping[str, np.ndarray], trace: Iterable[Written]
) -> Checked:
    mismatches: list[LayerMismatch] = []
    deviations: list[Deviation] = []
    floats: list[Closeness] = []
    rounded: list[RoundedSums] = []
    count = 0
    for _, step, values, now in walk(record, inputs, trace):
        if step.layer is not None:
            count += 1
            layer = record.layers[step.layer]
            arrays = _inputs(layer, step, values)
            got = _operand(layer, layer.workload.output, now[step.writes[0]])
            constants = _of_run(layer, layer_constants(folder, layer))
            found: LayerMismatch | None = None
            if layer.workload.real is not None:
                found, close = _close(layer, arrays, constants, got)
                floats.append(close)
            if layer.workload.real is None or layer.workload.rounded:
                exact = _equal(layer, got, reference(layer.workload, arrays, constants))
                found = exact or found
            mismatches += [found] if found else []
            if (turns := turns_of(layer.workload)) is not None:
                lost = lost_sums(layer.workload, arrays, constants, got)
                told = turns.turns, lost.mean, lost.largest
                rounded.append(RoundedSums(layer.name, layer.symbol, *told))
            if layer.original is not None and layer.original.error_lsb is not None:
                deviations.append(_deviation(folder, layer, layer.original, arrays, got))
    return Checked(count, tuple(mismatches), tuple(deviations), tuple(floats), tuple(rounded))


def _of_run(layer: LayerRecord, constants: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What a run reads of `constants`: of one that grows with its sizes the first elements."""
    if layer.sized is None:
        return dict(constants)
    shapes = {operand.name: operand.shape for operand in layer.workload.constants}
    return {name: value[tuple(map(slice, shapes[name]))] for name, value in constants.items()}


def _inputs(layer: LayerRecord, step: StepRecord, values: Storages) -> list[np.ndarray]:
    """What the layer really read, an array per input of its workload."""
    return [
        _operand(layer, operand, values.read(name))
        for name, operand in zip(step.reads, layer.workload.inputs, strict=True)
    ]


def _deviation(
    folder: Path,
    layer: LayerRecord,
    original: OriginalRecord,
    arrays: Sequence[np.ndarray],
    got: np.ndarray,
) -> Deviation:
    known = _constants(folder, layer.symbol, original.constants)
    model = reference(original.workload, arrays, known)
    gap = np.abs(got.astype(np.int64) - model.astype(np.int64))
    most = original.error_lsb or 0.0
    return Deviation(layer.name, layer.symbol, int(gap.max(initial=0)), most)


def _close(
    layer: LayerRecord,
    arrays: Sequence[np.ndarray],
    constants: Mapping[str, np.ndarray],
    got: np.ndarray,
) -> tuple[LayerMismatch | None, Closeness]:
    """A float32 layer: every element within its bound."""
    near = real_expected(layer.workload, arrays, constants, got)
    with np.errstate(over="ignore", invalid="ignore"):
        gap = np.abs(got.astype(np.float64).reshape(near.value.shape) - near.value)
    # A NaN where there should be none is as far away as can be.
    lost = np.isnan(gap) & np.isfinite(near.value)
    largest = float(np.where(lost, np.inf, np.nan_to_num(gap, posinf=np.inf)).max(initial=0.0))
    close = Closeness(layer.name, layer.symbol, share(got, near), largest)
    return _mismatch(layer, wrong(got, near), got, near.value), close


def _equal(layer: LayerRecord, got: np.ndarray, expected: np.ndarray) -> LayerMismatch | None:
    """An integer layer: bit for bit. -0.0 and 0.0 are different bits, a NaN equals itself."""
    bits = np.dtype(f"u{expected.dtype.itemsize}")
    differ = got.reshape(-1).view(bits) != expected.reshape(-1).view(bits)
    return _mismatch(layer, np.asarray(differ), got, expected)


def _mismatch(
    layer: LayerRecord, differ: np.ndarray, got: np.ndarray, expected: np.ndarray
) -> LayerMismatch | None:
    places = np.flatnonzero(differ)
    if not places.size:
        return None
    first = int(places[0])
    return LayerMismatch(
        layer.name,
        layer.symbol,
        int(places.size),
        expected.size,
        tuple(int(i) for i in np.unravel_index(first, layer.workload.output.shape)),
        float(got.reshape(-1)[first]),
        float(expected.reshape(-1)[first]),
    )


def _operand(layer: LayerRecord, operand: Operand, data: bytes | memoryview) -> np.ndarray:
    """An operand's elements, row-major, from the order in which they lie."""
    packing = layer.layouts.get(operand.name)
    if packing is None:
        return _array(data, operand.dtype, operand.shape)
    return packing.unpack(operand, _array(data, operand.dtype, packing.shape(operand)))


def _array(data: bytes | memoryview, dtype: str, shape: tuple[int, ...]) -> np.ndarray:
    kind = element_dtype(dtype)
    count = int(np.prod(shape, dtype=np.int64))
    return np.frombuffer(data, dtype=kind, count=count).reshape(shape)


def layer_constants(folder: Path, layer: LayerRecord) -> dict[str, np.ndarray]:
    """Constants of `layer` by operand name, as `workload.reference` reads them.

    Raises:
        ProjectError: a file is missing or too short.
    """
    return _constants(folder, layer.symbol, layer.constants)


def _constants(folder: Path, symbol: str, members: Members) -> dict[str, np.ndarray]:
    constants = {}
    for name, at in members:
        kind = element_dtype(at.dtype)
        count = int(np.prod(at.shape, dtype=np.int64))
        try:
            with (folder / at.file).open("rb") as file:
                file.seek(at.offset)
                data = file.read(count * kind.itemsize)
            constants[name] = np.frombuffer(data, dtype=kind, count=count).reshape(at.shape)
        except (OSError, ValueError) as error:
            raise ProjectError(
                f"constant {name} of layer {symbol} cannot be read: {error}",
                where=str(folder / at.file),
                hint="compile the model again",
            ) from error
    return constants
