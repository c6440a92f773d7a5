"""ONNX models: from the user's bytes or object to a `Model`."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

import onnx
from google.protobuf.message import DecodeError, EncodeError  # type: ignore[import-untyped]
from onnx import checker

from match_aie.errors import ModelError, shorten
from match_aie.frontend.model import Model
from match_aie.frontend.onnx_ceiled import without_dropped_windows
from match_aie.frontend.onnx_external import embed_external_data
from match_aie.frontend.onnx_functions import import_standard, without_functions
from match_aie.frontend.onnx_limits import check_inferred, check_stated
from match_aie.frontend.onnx_mended import in_order, with_shapes, with_types
from match_aie.frontend.onnx_names import plain_names
from match_aie.frontend.onnx_opset import at_known_opset
from match_aie.frontend.onnx_ports import check_stored_outputs, read_ports
from match_aie.frontend.onnx_rewrite import rewrite
from match_aie.frontend.onnx_rewrite.functions import spell_out_defaults
from match_aie.frontend.onnx_rewrite.table import BY_DEFINITION
from match_aie.frontend.onnx_shapes import fix_input_shapes, infer_shapes
from match_aie.frontend.onnx_sparse import unfold
from match_aie.frontend.onnx_stft import write_out_stft
from match_aie.limits import Limits


def parse(data: bytes) -> Any:
    """The ONNX model that `data` holds.

    Raises:
        ModelError: `data` is no ONNX file, or ends too early.
    """
    hint = "an ONNX model (.onnx) or a TFLite model (.tflite) is wanted; is the file complete?"
    try:
        model = onnx.ModelProto.FromString(data)
    except (DecodeError, ValueError, RuntimeError) as error:
        raise ModelError("this is not an ONNX model, or it is damaged", hint=hint) from error
    if not model.HasField("graph") or not model.opset_import:
        raise ModelError("this is not an ONNX model: it has no graph", hint=hint)
    return model


def load_onnx(
    model: onnx.ModelProto,
    *,
    source: bytes | None,
    folder: Path | None,
    name: str | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    limits: Limits = Limits(),
) -> Model:
    """Check, simplify and import an ONNX model.

    Args:
        model: an `onnx.ModelProto`; it is not changed.
        source: the bytes it was parsed from, None where the user gave the object.
        folder: the folder its external data may lie in, None where there is none.
        name: of the network.
        shapes: sizes for inputs with dynamic dimensions.
        limits: how large the model may be.

    Raises:
        LimitError: it is larger.
        ModelError: the model fails ONNX's checks, or needs `shapes`.
        UnsupportedOperatorError: listing every operator that cannot be compiled.
    """
    from match_aie.frontend.onnx_import import import_graph

    check_stated(model, limits)
    work = onnx.ModelProto()
    work.CopyFrom(model)
    if embed_external_data(work, folder) or source is None:
        source = _serialised(work)
    in_order(work.graph)
    import_standard(work)
    with_types(work)
    with with_shapes(work.graph):
        check(work)
    unfold(work)
    work = at_known_opset(without_functions(work))
    notes = fix_input_shapes(work, shapes or {})
    _help_inference(work)
    work = infer_shapes(work)
    check_inferred(work, limits)
    work, names = plain_names(work)
    work = rewrite(work, names.labels, limits)
    for note in notes:
        warnings.warn(note, stacklevel=4)
    check_stored_outputs(work, names.values)
    module, labels = import_graph(work, names.labels, limits)
    inputs, outputs = read_ports(work, names.values)
    return Model(
        module=module,
        name=name or work.graph.name or "network",
        inputs=inputs,
        outputs=outputs,
        source=source,
        format="onnx",
        labels=MappingProxyType(labels),
        warnings=tuple(notes),
    )


def _serialised(model: onnx.ModelProto) -> bytes:
    """The bytes of a model object."""
    try:
        return bytes(model.SerializeToString(deterministic=True))
    except (EncodeError, ValueError) as error:
        raise ModelError(f"the model cannot be serialised: {shorten(str(error))}") from error


def _help_inference(model: onnx.ModelProto) -> None:
    """Write out, in place, what ONNX's inference of shapes gives other sizes than it has."""
    for node in model.graph.node:
        if node.op_type in BY_DEFINITION:
            # Inference looks into definitions, which miss default values.
            spell_out_defaults(node, model)
    write_out_stft(model)
    without_dropped_windows(model)


def check(model: onnx.ModelProto) -> None:
    """Refuse what ONNX's own checker refuses.

    Raises:
        ModelError: with the checker's sentence.
    """
    try:
        checker.check_model(model)
    except (checker.ValidationError, ValueError, RuntimeError) as error:
        raise ModelError(
            f"the model is not valid ONNX: {shorten(str(error).strip())}",
            hint="export it again; `onnx.checker.check_model` shows the whole message",
        ) from error
