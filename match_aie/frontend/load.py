"""`load`: whatever a user calls a model, as a `Model`."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from match_aie.errors import ModelError, OptionError
from match_aie.frontend.model import Model

#: What a Relay text starts with.
RELAY_MARK = "#[version"
#: Endings of files that hold Relay text.
RELAY_ENDINGS = (".relay", ".txt")

#: Bytes 4 to 8 of every TFLite file.
TFLITE_MARK = b"TFL3"

Shapes = Mapping[str, Sequence[int]]


def load(
    model: Any, *, name: str | None = None, shapes: Shapes | None = None, params: Any = None
) -> Model:
    """Read a model from a file, from bytes, or from an object of another library.

    Args:
        model: path of an ONNX, TFLite or Relay file, its bytes, an `onnx.ModelProto`, a
            `tvm.IRModule` whose Relax function `main` is the network, or an object whose
            `astext()` gives Relay text. A `str` that holds a newline, or starts with `#[version`
            or a brace (JSON), is Relay, any other `str` is a path.
        name: of the network; by default what the file or the model is called.
        shapes: sizes for inputs with dynamic dimensions, by input name.
        params: values of parameters of a Relay `main`: a mapping of names to arrays, or a path or
            the bytes of an `.npz` file or of what `save_param_dict` wrote.

    Raises:
        ModelError: the model cannot be read, or needs `shapes`.
        OptionError: `params` for a model that is not Relay.
        UnsupportedOperatorError: it holds operators that cannot be compiled.
    """
    if isinstance(model, str) and ("\n" in model or model.startswith((RELAY_MARK, "{"))):
        return _relay(model, name, shapes, params)
    if isinstance(model, str | os.PathLike):
        return _load_path(Path(model), name, shapes, params)
    if isinstance(model, bytes | bytearray | memoryview):
        return _load_bytes(bytes(model), name, shapes, None, params)
    kind = f"{type(model).__module__}.{type(model).__name__}"
    if hasattr(model, "astext"):
        return _relay(_text_of(model), name, shapes, params)
    _no_params(params)
    if hasattr(model, "SerializeToString") and hasattr(model, "graph"):
        from match_aie.frontend.onnx_model import load_onnx

        return load_onnx(model, source=None, folder=None, name=name, shapes=shapes)
    if kind.startswith("tvm.") and hasattr(model, "get_global_vars"):
        from match_aie.frontend.relax_import import load_relax

        return load_relax(model, name=name)
    raise ModelError(
        f"a model cannot be made from an object of type {kind}",
        hint="give a path, bytes, Relay text, an onnx.ModelProto, or a tvm.IRModule with a Relax "
        "main",
    )


def _relay(text: str, name: str | None, shapes: Shapes | None, params: Any) -> Model:
    from match_aie.frontend.relay import load_relay

    return load_relay(text, name=name, shapes=shapes, params=params)


def _text_of(model: Any) -> str:
    """The Relay text of an object, with its constants."""
    try:
        text = model.astext(show_meta_data=True)
    except TypeError:
        text = model.astext()
    if not isinstance(text, str):
        raise ModelError(f"astext() of {type(model).__name__} gives no text")
    return text


def _no_params(params: Any) -> None:
    if params is not None:
        raise OptionError(
            "params are for Relay modules; this model holds its weights",
            hint="leave out params, or --params",
        )


def _load_path(path: Path, name: str | None, shapes: Shapes | None, params: Any) -> Model:
    """Read the file at `path`; errors name it."""
    try:
        data = path.read_bytes()
    except FileNotFoundError as error:
        raise ModelError("no such file", where=str(path), hint=_nearby(path)) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"the file cannot be read: {why}", where=str(path)) from error
    try:
        name = name or path.stem
        if path.suffix.lower() in RELAY_ENDINGS:
            return _relay(_decoded(data), name, shapes, params)
        return _load_bytes(data, name, shapes, path.resolve().parent, params)
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


def _decoded(data: bytes) -> str:
    """Relay text from bytes; TVM writes UTF-8."""
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelError(f"this is no text: byte {error.start} is not UTF-8") from error


def _load_bytes(
    data: bytes, name: str | None, shapes: Shapes | None, folder: Path | None, params: Any
) -> Model:
    """Tell the format by its content."""
    if data.startswith(RELAY_MARK.encode()) or data.lstrip()[:1] == b"{":
        return _relay(_decoded(data), name, shapes, params)
    _no_params(params)
    if data[4:8] == TFLITE_MARK:
        from match_aie.frontend.tflite_import import load_tflite

        return load_tflite(data, name=name, shapes=shapes)
    from match_aie.frontend.onnx_model import load_onnx, parse

    return load_onnx(parse(data), source=data, folder=folder, name=name, shapes=shapes)
