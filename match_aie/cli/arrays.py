"""Input and output arrays of `match-aie run`: files, random values, and short descriptions."""

from __future__ import annotations

import io
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from match_aie.cli.files import write_file
from match_aie.codegen.port import PortRecord
from match_aie.errors import OptionError, shorten
from match_aie.toolchain.places import try_instead

Arrays = dict[str, np.ndarray]
Ports = Sequence[PortRecord]


def read_inputs(path: Path, ports: Ports) -> Arrays:
    """The arrays of an .npz file; a single one may have any name where there is one input.

    Raises:
        OptionError: no such file, not an .npz file, or arrays that hold Python objects.
    """
    try:
        loaded = np.load(path, allow_pickle=False)
        if isinstance(loaded, np.ndarray):
            raise OptionError("this is a single array", where=str(path), hint="use numpy.savez")
        with loaded as archive:
            arrays = {name: np.asarray(archive[name]) for name in archive.files}
    except FileNotFoundError as error:
        raise OptionError("there is no such file", where=str(path)) from error
    except (OSError, ValueError, EOFError, zipfile.BadZipFile) as error:
        raise OptionError(
            f"the inputs cannot be read: {shorten(str(error), 150)}",
            where=str(path),
            hint="write them with np.savez(path, **{input name: array})",
        ) from error
    if len(arrays) == len(ports) == 1:
        return {ports[0].name: next(iter(arrays.values()))}
    return arrays


def write_outputs(path: Path, outputs: Mapping[str, np.ndarray]) -> None:
    """Write `outputs` as an .npz file, at exactly `path`.

    Raises:
        OptionError: the file cannot be written.
    """
    # np.savez takes names as keyword arguments, among which "file" is its own.
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name, array in outputs.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.ascontiguousarray(array))
    try:
        write_file(path, stream.getvalue())
    except OSError as error:
        raise OptionError(
            f"the outputs cannot be written: {error.strerror or error}",
            where=str(path),
            hint=try_instead(error),
        ) from error


def random_inputs(ports: Ports, seed: int) -> Arrays:
    """One random array per input; the same for the same seed.

    Float inputs with a known quantisation get values over its range and a little beyond, other
    floats normal values; 8- and 16-bit integers the whole range; wider ones, which are often
    indices, 0 or 1.
    """
    rng = np.random.default_rng(seed)
    return {port.name: _random(rng, port) for port in ports}


def _random(rng: np.random.Generator, port: PortRecord) -> np.ndarray:
    shape, name = port.shape, port.dtype
    if name in ("float16", "float32", "float64"):
        values = rng.standard_normal(shape)
        if port.scale is not None:
            values = (rng.uniform(-140, 267, shape) - port.zero_point) * float(port.scale)
        return np.asarray(values, np.dtype(name))
    if name in ("int8", "uint8", "int16", "uint16"):
        limits = np.iinfo(name)
        return np.asarray(rng.integers(limits.min, limits.max + 1, shape), np.dtype(name))
    if name in ("bool", "int32", "uint32", "int64", "uint64"):
        return np.asarray(rng.integers(0, 2, shape), np.dtype(name))
    raise OptionError(
        f"there are no random values of type {shorten(name, 20)}",
        where=port.name,
        hint="give the inputs with --inputs x.npz",
    )


def describe(array: np.ndarray) -> str:
    """Type, shape and range in a few words.

    >>> describe(np.array([[1.5, -2.0]], np.float32))
    'float32[1, 2], -2 to 1.5'
    """
    text = f"{array.dtype.name}{list(array.shape)}"
    if not array.size:
        return f"{text}, empty"
    if array.size == 1:
        return f"{text}, {array.reshape(-1)[0]:.6g}"
    return f"{text}, {array.min():.6g} to {array.max():.6g}"
