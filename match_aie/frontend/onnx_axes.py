"""What an ONNX model calls the dimensions of its inputs."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from match_aie.frontend.load import TFLITE_MARK, read_file
from match_aie.frontend.onnx_model import parse
from match_aie.limits import Limits


def names_of_axes(model: Any, limits: Limits) -> dict[str, tuple[str, ...]]:
    """Input name -> names of its dimensions, "" for none; nothing where it is no ONNX model.

    Raises:
        LimitError: the file is too large.
        ModelError: it cannot be read.
    """
    if isinstance(model, str | os.PathLike) and "\n" not in str(model):
        path = Path(model)
        if path.suffix.lower() != ".onnx":
            return {}
        model = read_file(path, limits)
    if isinstance(model, bytes | bytearray | memoryview):
        data = bytes(model)
        if data[4:8] == TFLITE_MARK or data.lstrip()[:1] in (b"{", b"#"):
            return {}
        model = parse(data)
    if not hasattr(model, "graph"):
        return {}
    return {
        port.name: tuple(dim.dim_param for dim in port.type.tensor_type.shape.dim)
        for port in model.graph.input
    }
