"""`load`: whatever a user calls a model, as a `Model`."""

from __future__ import annotations

import difflib
import os
import stat
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from match_aie.errors import ModelError, OptionError
from match_aie.frontend.model import Model
from match_aie.limits import Limits

#: What a Relay text starts with.
RELAY_MARK = "#[version"
#: Endings of files that hold Relay text.
RELAY_ENDINGS = (".relay", ".txt")

#: Bytes 4 to 8 of every TFLite file.
TFLITE_MARK = b"TFL3"

#: Opens a pipe without waiting for who writes to it; 0 where the system has no such flag.
NO_WAIT = getattr(os, "O_NONBLOCK", 0)

Shapes = Mapping[str, Sequence[int]]


def load(
    model: Any,
    *,
    name: str | None = None,
    shapes: Shapes | None = None,
    params: Any = None,
    limits: Limits = Limits(),
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
        limits: how large the model may be.

    Raises:
        LimitError: it is larger.
        ModelError: the model cannot be read, or needs `shapes`.
        OptionError: `params` for a model that is not Relay.
        UnsupportedOperatorError: it holds operators that cannot be compiled.
    """
    wanted = _Wanted(name, shapes, params, limits)
    from match_aie.frontend.dead_channels import revive_dead_channels
    from match_aie.frontend.module_limits import check_module
    from match_aie.frontend.port_check import check_ports

    loaded = revive_dead_channels(_loaded(model, wanted))
    check_module(loaded, limits)
    check_ports(loaded)
    for kind, ports in (("input", loaded.inputs), ("output", loaded.outputs)):
        for name, times in Counter(port.name for port in ports).items():
            if times > 1:
                raise ModelError(f"two {kind}s of the model have one name", where=f"{kind} {name}")
    return loaded


@dataclass(frozen=True)
class _Wanted:
    """The options of `load`."""

    name: str | None
    shapes: Shapes | None
    params: Any
    limits: Limits


def _loaded(model: Any, wanted: _Wanted) -> Model:
    """The model by the type of what was given."""
    if isinstance(model, str) and ("\n" in model or model.startswith((RELAY_MARK, "{"))):
        return _relay(model, wanted)
    if isinstance(model, str | os.PathLike):
        return _load_path(Path(model), wanted)
    if isinstance(model, bytes | bytearray | memoryview):
        wanted.limits.check("file_bytes", len(model), "the model is too large")
        return _load_bytes(bytes(model), wanted, None)
    kind = f"{type(model).__module__}.{type(model).__name__}"
    if hasattr(model, "astext"):
        return _relay(_text_of(model), wanted)
    _no_params(wanted.params)
    if hasattr(model, "SerializeToString") and hasattr(model, "graph"):
        from match_aie.frontend.onnx_model import load_onnx

        return load_onnx(
            model,
            source=None,
            folder=None,
            name=wanted.name,
            shapes=wanted.shapes,
            limits=wanted.limits,
        )
    if kind.startswith("tvm.") and hasattr(model, "get_global_vars"):
        from match_aie.frontend.relax_import import load_relax

        return load_relax(model, name=wanted.name)
    raise ModelError(
        f"a model cannot be made from an object of type {kind}",
        hint="give a path, bytes, Relay text, an onnx.ModelProto, or a tvm.IRModule with a Relax "
        "main",
    )


def _relay(text: str, wanted: _Wanted) -> Model:
    from match_aie.frontend.relay import load_relay

    return load_relay(
        text,
        name=wanted.name,
        shapes=wanted.shapes,
        params=wanted.params,
        limits=wanted.limits,
    )


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


def _load_path(path: Path, wanted: _Wanted) -> Model:
    """Read the file at `path`; errors name it."""
    try:
        data = read_file(path, wanted.limits)
        wanted = replace(wanted, name=wanted.name or path.stem)
        if path.suffix.lower() in RELAY_ENDINGS:
            return _relay(_decoded(data), wanted)
        return _load_bytes(data, wanted, path.resolve().parent)
    except ModelError as error:
        error.where = f"{path}: {error.where}" if error.where else str(path)
        raise


def read_file(path: Path, limits: Limits) -> bytes:
    """The bytes of a file; nothing else is opened, since a pipe or a device has no end.

    Raises:
        LimitError: the file is too large.
        ModelError: there is none, or it cannot be read.
    """
    try:
        # A pipe that nobody writes to would keep `open` waiting.
        with open(path, "rb", opener=lambda name, flags: os.open(name, flags | NO_WAIT)) as file:
            state = os.fstat(file.fileno())
            if not stat.S_ISREG(state.st_mode):
                raise ModelError("this is no file but a folder, pipe or device")
            limits.check("file_bytes", state.st_size, "the model file is too large")
            return file.read(state.st_size)
    except FileNotFoundError as error:
        raise ModelError("no such file", hint=_nearby(path)) from error
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or str(error)
        raise ModelError(f"the file cannot be read: {why}") from error


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


def _load_bytes(data: bytes, wanted: _Wanted, folder: Path | None) -> Model:
    """Tell the format by its content."""
    if data.startswith(RELAY_MARK.encode()) or data.lstrip()[:1] == b"{":
        return _relay(_decoded(data), wanted)
    _no_params(wanted.params)
    name, shapes, limits = wanted.name, wanted.shapes, wanted.limits
    if data[4:8] == TFLITE_MARK:
        from match_aie.frontend.tflite_import import load_tflite

        return load_tflite(data, name=name, shapes=shapes, limits=limits)
    from match_aie.frontend.onnx_model import load_onnx, parse
    from match_aie.frontend.torch_program import refuse_saved

    refuse_saved(data)
    model = parse(data)
    return load_onnx(model, source=data, folder=folder, name=name, shapes=shapes, limits=limits)
