"""Inputs of an ONNX model that are bound to values: constants from there on."""

from __future__ import annotations

import difflib
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

from match_aie.errors import ModelError, OptionError, shorten
from match_aie.frontend.onnx_external import embed_external_data
from match_aie.frontend.onnx_limits import check_stated
from match_aie.frontend.onnx_model import parse
from match_aie.frontend.onnx_shapes import store_apart
from match_aie.limits import Limits

#: Element types whose values are rounded to what they hold.
FLOATS = frozenset(
    {TensorProto.FLOAT, TensorProto.DOUBLE, TensorProto.FLOAT16, TensorProto.BFLOAT16}
)


def with_values(
    model: Any, values: Mapping[str, Any], limits: Limits = Limits()
) -> tuple[onnx.ModelProto, str | None]:
    """The model with some of its inputs bound, and the name of its file, None where it is none.

    A branch that such an input decides, or sizes that come of it, are known when it is compiled.

    Args:
        model: path or bytes of an ONNX model, or an `onnx.ModelProto`, which is not changed.
        values: by input name: a number, a list, or an array of the input's shape.
        limits: how large a file is read.

    Raises:
        ModelError: the model cannot be read.
        OptionError: no ONNX model, no such input, or a value that the input cannot have.
    """
    work, name, folder = onnx.ModelProto(), None, None
    if isinstance(model, str | os.PathLike):
        path = Path(model)
        name, folder = path.stem, path.resolve().parent
        from match_aie.frontend.load import read_file

        try:
            work = parse(_onnx(read_file(path, limits)))
        except ModelError as error:
            error.where = error.where or str(path)
            raise
    elif isinstance(model, bytes | bytearray | memoryview):
        limits.check("file_bytes", len(model), "the model is too large")
        work = parse(_onnx(bytes(model)))
    elif hasattr(model, "SerializeToString") and hasattr(model, "graph"):
        work.CopyFrom(model)
    else:
        raise OptionError(
            f"values are for ONNX models, not for {type(model).__name__}",
            hint="bind what is known before the model is given",
        )
    check_stated(work, limits)
    embed_external_data(work, folder)
    for key, value in values.items():
        _bind(work.graph, key, value)
    store_apart(work)
    return work, name


def _onnx(data: bytes) -> bytes:
    """`data`, which is no TFLite file.

    Raises:
        OptionError: it is one.
    """
    if data[4:8] == b"TFL3":
        raise OptionError("values are for ONNX models, and this is a TFLite file")
    return data


def _bind(graph: onnx.GraphProto, name: str, value: Any) -> None:
    """The input becomes a constant.

    Raises:
        OptionError: there is no such input, or it cannot have the value.
    """
    known = {tensor.name for tensor in graph.initializer}
    inputs = {port.name: port for port in graph.input if port.name not in known}
    port = inputs.get(name)
    if port is None:
        close = difflib.get_close_matches(name, inputs, n=1)
        raise OptionError(
            f"a value for {shorten(name, 80)!r}, which is no input of the model",
            hint=f"did you mean {close[0]!r}?" if close else f"inputs: {', '.join(inputs)}",
        )
    kind = port.type.tensor_type
    try:
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        given = np.asarray(value)
        if given.dtype.kind not in "biuf":
            raise TypeError(given.dtype)
        with np.errstate(all="ignore"):
            array = given.astype(dtype)
            real = kind.elem_type in FLOATS
            finite = np.isfinite(array.astype(np.float64)) == np.isfinite(given.astype(np.float64))
        # Python's integers do not wrap around.
        same = bool(finite.all()) if real else array.tolist() == given.tolist()
    except (KeyError, TypeError, ValueError, OverflowError) as error:
        raise OptionError(f"input {shorten(name, 80)!r} takes no such value") from error
    if not same:
        raise OptionError(f"input {shorten(name, 80)!r} is {dtype}, and cannot be {given.tolist()}")
    graph.initializer.append(numpy_helper.from_array(_shaped(array, kind, name), name))
    graph.input.remove(port)


def _shaped(array: np.ndarray, kind: Any, name: str) -> np.ndarray:
    """The value in the input's shape; one number fills an input of one element.

    Raises:
        OptionError: it has another one.
    """
    if not kind.HasField("shape"):
        return array
    stated = [dim.dim_value if dim.HasField("dim_value") else -1 for dim in kind.shape.dim]
    sizes = [size if size >= 0 else None for size in stated]
    if array.size == 1 and all(size in (None, 1) for size in sizes):
        return array.reshape([1] * len(sizes))
    fits = len(sizes) == array.ndim and all(
        size in (None, have) for size, have in zip(sizes, array.shape, strict=True)
    )
    if not fits:
        shape = ["?" if size is None else size for size in sizes]
        raise OptionError(
            f"input {shorten(name, 80)!r} has the shape {shape}, its value {list(array.shape)}"
        )
    return array
