"""Programs of PyTorch, through its own ONNX exporter.

PyTorch is no dependency: whoever hands over one of its objects has it, and it is asked by that
object's package.
"""

from __future__ import annotations

import importlib
from typing import Any

from match_aie.errors import ModelError, shorten

#: Package of the objects, and of the exporter.
TORCH = "torch"


def exported(model: Any) -> Any:
    """A `torch.export.ExportedProgram`, or what its exporter made of one, as an ONNX model.

    Anything else is given back as it is.

    Raises:
        ModelError: a module that is not exported yet, or the exporter fails or is not whole.
    """
    if type(model).__module__.split(".")[0] == TORCH and type(model).__name__ == "ONNXProgram":
        return model.model_proto
    names = {(kind.__module__.split(".")[0], kind.__name__) for kind in type(model).__mro__}
    if (TORCH, "Module") in names:
        raise ModelError(
            f"{type(model).__name__} is a PyTorch module, and not a program yet",
            hint="match.compile(torch.export.export(module.eval(), (example_input,)))",
        )
    if (TORCH, "ExportedProgram") not in names:
        return model
    try:
        exporter = importlib.import_module(f"{TORCH}.onnx")
        return exporter.export(model, dynamo=True, verbose=False).model_proto
    except ImportError as error:
        raise ModelError(
            f"PyTorch's ONNX exporter is not whole: {error}", hint="pip install onnx onnxscript"
        ) from error
    except Exception as error:  # what leaves another library's exporter
        raise ModelError(
            "PyTorch cannot export the program to ONNX: "
            f"{type(error).__name__}: {shorten(str(error), 300)}",
            hint="torch.onnx.export(program, dynamo=True, report=True) says more",
        ) from error


def refuse_saved(data: bytes) -> None:
    """Refuse a file that `torch.export.save` or `torch.save` wrote: only PyTorch reads it.

    Raises:
        ModelError: it is one.
    """
    if data[:4] == b"PK\x03\x04":
        raise ModelError(
            "this is an archive, as PyTorch saves programs, and only PyTorch reads it",
            hint="match.compile(torch.export.load(file)), or an ONNX file",
        )
