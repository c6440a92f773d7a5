"""`load`: whatever a user calls a model, as a `Model`."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from match_aie.errors import ModelError
from match_aie.frontend.model import Model

#: What a Relay text starts with.
RELAY_MARK = "#[version"

#: Bytes 4 to 8 of every TFLite file.
TFLITE_MARK = b"TFL3"

Shapes = Mapping[str, Sequence[int]]


def load(model: Any, *, name: str | None = None, shapes: Shapes | None = None) -> Model:
    """Read a model from a file, from bytes, or from an object of another library.

    Args:
        model: path of an ONNX or TFLite file, its bytes, an `onnx.ModelProto`, or a
            `tvm.IRModule` whose Relax function `main` is the network. A `str` that holds a newline
            or starts with `#[version` is Relay text, any other `str` is a path.
        name: of the network; by default what the file or the model is called.
        shapes: sizes for inputs with dynamic dimensions, by input name.

    Raises:
        ModelError: the model cannot be read, or needs `shapes`.
        UnsupportedOperatorError: it holds operators that cannot be compiled.
    """
    if isinstance(model, str) and ("\n" in model or model.startswith(RELAY_MARK)):
        raise _relay_refused()
    if isinstance(model, str | os.PathLike):
        return _load_path(Path(model), name, shapes)
    if isinstance(model, bytes | bytearray | memoryview):
        return _load_bytes(bytes(model), name, shapes, None)
    kind = f"{type(model).__module__}.{type(model).__name__}"
    if hasattr(model, "SerializeToString") and hasattr(model, "graph"):
        from match_aie.frontend.onnx_model import load_onnx

        return load_onnx(model, source=None, folder=None, name=name, shapes=shapes)
    if kind.startswith("tvm.") and hasattr(model, "get_global_vars"):
        from match_aie.frontend.relax_import import load_relax

        return load_relax(model, name=name)
    raise ModelError(
        f"a model cannot be made from an object of type {kind}",
        hint="give a path, bytes, an onnx.ModelProto, or a tvm.IRModule with a Relax main",
    )


def _relay_refused() -> ModelError:
    return ModelError(
        "Relay text is not supported yet",
        hint="export the network as ONNX or TFLite",
    )


def _load_path(path: Path, name: str | None, shapes: Shapes | None) -> Model:
    """Read the file at `path`; errors name it."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise ModelError("no such file", where=str(path), hint=_nearby(path)) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"the file cannot be read: {why}", where=str(path)) from error
    try:
        return _load_bytes(data, name or path.stem, shapes, path.resolve().parent)
    except ModelError as error:
        error.where = f"{path}: {error.where}" if error.where else str(path)
        raise


def _nearby(path: Path) -> str:
    """Files whose names look like the one that is missing."""
    try:
        names = [entry.name for entry in path.parent.iterdir()]
    except OSError:
        return f"folder {str(path.parent)[:200]!r} does not exist either"
    close = difflib.get_close_matches(path.name[:255], names, n=3)
    return f"did you mean {', '.join(close)}?" if close else "check the path"


def _load_bytes(data: bytes, name: str | None, shapes: Shapes | None, folder: Path | None) -> Model:
    """Tell the format by its content."""
    if data[4:8] == TFLITE_MARK:
        from match_aie.frontend.tflite_import import load_tflite

        return load_tflite(data, name=name, shapes=shapes)
    if data.startswith(RELAY_MARK.encode()):
        raise _relay_refused()
    from match_aie.frontend.onnx_model import load_onnx, parse

    return load_onnx(parse(data), source=data, folder=folder, name=name, shapes=shapes)
