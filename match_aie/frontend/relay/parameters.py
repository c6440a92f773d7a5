"""Values for the parameters of a Relay `main`: what `params=` may be."""

from __future__ import annotations

import io
import os
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from match_aie.errors import ModelError, shorten
from match_aie.frontend.relay.ndarray import LIST_MARK, read_list

Arrays = Mapping[str, np.ndarray]


def read_parameters(params: Any) -> Arrays:
    """Arrays by name.

    Args:
        params: a mapping of names to arrays (numpy's, or TVM's with `.numpy()`), a path or the
            bytes of an `.npz` file or of what `save_param_dict` wrote, or None for none.

    Raises:
        ModelError: it is none of these, or damaged.
    """
    if params is None:
        return {}
    if isinstance(params, Mapping):
        return {str(name): _array(str(name), value) for name, value in params.items()}
    if isinstance(params, bytes | bytearray | memoryview):
        return _from_bytes(bytes(params))
    if isinstance(params, str | os.PathLike):
        return _from_file(Path(params))
    raise ModelError(
        f"parameters cannot be made from an object of type {type(params).__name__}",
        hint="give a dict of arrays, an .npz file, or the bytes of save_param_dict",
    )


def _array(name: str, value: Any) -> np.ndarray:
    """One array of a mapping."""
    for method in ("numpy", "asnumpy"):
        if hasattr(value, method):
            value = getattr(value, method)()
            break
    array = np.asarray(value)
    if array.dtype.kind not in "biuf":
        raise ModelError(
            f"the value is no array of numbers but of {array.dtype}",
            where=f"parameter {shorten(name, 80)}",
        )
    return array


def _from_file(path: Path) -> Arrays:
    try:
        return _from_bytes(path.read_bytes())
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"the parameters cannot be read: {why}", where=str(path)) from error
    except ModelError as error:
        error.where = f"{path}: {error.where}" if error.where else str(path)
        raise


def _from_bytes(data: bytes) -> Arrays:
    if data.startswith(LIST_MARK):
        return read_list(data)
    if data.startswith(b"PK"):
        return _from_npz(data)
    raise ModelError(
        "these bytes are no parameters",
        hint="give an .npz file, or what tvm.runtime.save_param_dict wrote",
    )


def _from_npz(data: bytes) -> Arrays:
    try:
        with np.load(io.BytesIO(data), allow_pickle=False) as archive:
            return {name: _array(name, archive[name]) for name in archive.files}
    except (ValueError, OSError, EOFError, KeyError, zipfile.BadZipFile) as error:
        raise ModelError(f"the .npz file is damaged: {shorten(str(error), 120)}") from error
