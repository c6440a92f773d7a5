"""Functions of a model's own: their nodes stand where they were called."""

from __future__ import annotations

from typing import Any

import onnx
from onnx import inliner

from match_aie.errors import ModelError, shorten
from match_aie.frontend.onnx_limits import every_node, function_key, node_key
from match_aie.frontend.onnx_rewrite.graph import STANDARD, opset_of


def import_standard(model: onnx.ModelProto) -> None:
    """Declare the standard operators where the functions of `model` alone use them, in place."""
    if opset_of(model):
        return
    versions = [
        opset.version
        for function in model.functions
        for opset in function.opset_import
        if opset.domain in STANDARD
    ]
    if versions:
        model.opset_import.append(onnx.helper.make_opsetid("", max(versions)))


def without_functions(model: onnx.ModelProto) -> Any:
    """`model` with the bodies of its functions in place of their calls; `model` is changed.

    ONNX's inliner leaves out default values of attributes, and leaves alone functions that import
    another version of the standard operators. Its checker has let only those pass whose operators
    are the same in both.

    Raises:
        ModelError: the inliner refuses.
    """
    if not model.functions:
        return model
    _spell_out_defaults(model)
    version = opset_of(model)
    for function in model.functions:
        for opset in function.opset_import:
            if opset.domain in STANDARD:
                opset.version = version
    try:
        return inliner.inline_local_functions(model)
    except RuntimeError as error:
        raise ModelError(
            f"the functions of the model cannot be expanded: {shorten(str(error))}"
        ) from error


def _spell_out_defaults(model: onnx.ModelProto) -> None:
    """Give every call the attributes that it leaves to the function's defaults, in place."""
    defaults = {function_key(f): f.attribute_proto for f in model.functions}
    bodies = (node for function in model.functions for node in function.node)
    for node in every_node([*model.graph.node, *bodies]):
        given = {attribute.name for attribute in node.attribute}
        known = defaults.get(node_key(node), ())
        node.attribute.extend(value for value in known if value.name not in given)
