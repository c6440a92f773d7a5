"""LSTMs of TFLite files as layers in ONNX's terms, which modules know.

Shapes: T steps, B rows, I inputs, H hidden units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
import tflite
from onnx import TensorProto, helper
from tvm import relax

from match_aie import tvm_api
from match_aie.frontend import tflite_codes
from match_aie.frontend.onnx_rewrite.recurrent import CELL_CLIP, STATE_CODES
from match_aie.frontend.tflite_site import SPAN, STATES, Expr, Site, is_time_major, steps_of

#: Gates as ONNX stacks them, by their place in TFLite's order: input, output, forget, cell.
_ORDER = (0, 3, 1, 2)

#: First operands of a direction's: weights of inputs and states, peepholes, biases, projection.
_INPUT, _STATE, _PEEPHOLES, _BIASES, _PROJECTION = 1, 5, range(9, 12), 12, 16

_OPSET, _FORMAT = 17, 8


#: The operators.
KINDS = tuple(kind for kind in STATES if kind.endswith("LSTM"))


def hybrid_problem(kind: str, given: Any, tensors: Sequence[Any]) -> str | None:
    """Why an LSTM of int8 weights on floats is refused, None where it is not.

    Args:
        kind: its name.
        given: its attributes.
        tensors: its operands.
    """
    for base in (0, SPAN[kind]) if kind in SPAN else (0,):
        weights = tensors[_INPUT + base : _PEEPHOLES.start + base]
        others = [tensors[at + base] for at in (*_PEEPHOLES, _PROJECTION)]
        if any(tensor.tensor_idx < 0 for tensor in weights) or any(
            tensor.tensor_idx >= 0 for tensor in others
        ):
            return "of int8 weights, coupled gates, peepholes and projections are not compiled"
        for tensor in weights:
            if tensor.tensor.Type() != tflite.TensorType.INT8 or not tensor.qnn_params:
                return "weights of this type on activations of floats are not compiled"
            scale, zero = (
                tvm_api.constant_value(tensor.qnn_params[n]) for n in ("scale", "zero_point")
            )
            if scale.size != 1 or np.any(zero):
                return "its weights are not quantised as a whole around 0"
    if given.FusedActivationFunction() != tflite.ActivationFunctionType.TANH:
        return "of int8 weights, only tanh is compiled"
    return None


def is_plain(site: Site, base: int) -> bool:
    """Whether the operator is an LSTM without peepholes, coupled gates and projection.

    Args:
        site: the operator; `tflite_recurrent.problem` found none.
        base: operands before those of the direction.
    """
    if not site.kind.endswith("LSTM"):
        return False
    if site.given.FusedActivationFunction() != tflite.ActivationFunctionType.TANH:
        return False
    other = (*_PEEPHOLES, _PROJECTION)
    return site.constant(_INPUT + base) is not None and all(
        site.constant(at + base) is None for at in other
    )


def run(site: Site, base: int, *, reverse: bool) -> Expr:
    """All steps of one direction: the sequence of outputs, in the input's layout."""
    x, shape = _steps_first(site)
    steps, rows = tvm_api.shape_of(x)[:2]
    if reverse:
        x = site.emit(_turned(x, steps))
    kept = STATES[site.kind][2 if base else 0 :][:2]
    weights = _weights(site, base)
    hidden = weights[1].shape[-1]
    states = [site.emit(relax.op.reshape(site.value(at), (1, rows, hidden))) for at in kept]
    model = _model(site, (steps, rows, weights[0].shape[-1]), hidden)
    if site.hybrid:
        x = tflite_codes.coded(site.emit, x, asymmetric=_asymmetric(site))
    constants = [relax.const(values, "float32") for values in weights]
    joined = site.layer(model, [x, *constants, *states])

    def part(begin: int, end: int, size: tuple[int, ...]) -> Expr:
        rows_of = relax.op.strided_slice(joined, axes=[0], begin=[begin], end=[end])
        return site.emit(relax.op.reshape(site.emit(rows_of), size))

    for at, step in zip(kept, (steps - 1, steps), strict=True):
        site.keep(at, part(step, step + 1, (rows, hidden)))
    y = part(0, steps, (steps, rows, hidden))
    if reverse:
        y = site.emit(_turned(y, steps))
    if len(shape) == 3 and not is_time_major(site.kind, site.given):
        return relax.op.permute_dims(y, [1, 0, 2])
    return relax.op.reshape(y, (*shape[:-1], hidden))


def _steps_first(site: Site) -> tuple[Expr, tuple[int, ...]]:
    """The input as [T, B, I], and its shape in the file."""
    x = site.value(0)
    shape = tvm_api.shape_of(x)
    steps = steps_of(site.kind, site.given, shape)
    if len(shape) == 3 and not is_time_major(site.kind, site.given):
        return site.emit(relax.op.permute_dims(x, [1, 0, 2])), shape
    return site.emit(relax.op.reshape(x, (steps, -1, shape[-1]))), shape


def _turned(x: Expr, steps: int) -> Expr:
    """The last step first."""
    order = relax.const(np.arange(steps, dtype=np.int64)[::-1].copy(), "int64")
    return relax.op.take(x, order, axis=0, mode="fast")


def _weights(site: Site, base: int) -> list[np.ndarray]:
    """W [1, 4 H, I], R [1, 4 H, H] and B [1, 8 H] as ONNX has them."""

    def stacked(first: int) -> np.ndarray:
        parts = [site.constant(first + base + gate) for gate in _ORDER]
        return np.concatenate([_there(part, hidden) for part in parts])[None].astype(np.float32)

    hidden = len(_there(site.constant(_INPUT + base), 0))
    biases = stacked(_BIASES)
    return [stacked(_INPUT), stacked(_STATE), np.concatenate([biases, 0 * biases], axis=1)]


def _there(values: np.ndarray | None, size: int) -> np.ndarray:
    """`values`, zeros where a bias is left out."""
    return np.zeros(size, np.float32) if values is None else values


def _asymmetric(site: Site) -> bool:
    return bool(site.given.AsymmetricQuantizeInputs())


def _model(site: Site, sizes: tuple[int, int, int], hidden: int) -> onnx.ModelProto:
    """An ONNX model of the layer alone, its weights inputs."""
    steps, rows, inputs = sizes
    state = (1, rows, hidden)
    given = {
        "x": sizes,
        "w": (1, 4 * hidden, inputs),
        "r": (1, 4 * hidden, hidden),
        "b": (1, 8 * hidden),
        "h": state,
        "c": state,
    }
    names = ["x", "w", "r", "b", "", "h", "c"]
    node = helper.make_node("LSTM", names, ["y", "", "last"], hidden_size=hidden)
    if site.given.CellClip() > 0:
        node.attribute.append(helper.make_attribute(CELL_CLIP, float(site.given.CellClip())))
    if site.hybrid:
        codes = "asymmetric" if _asymmetric(site) else "symmetric"
        node.attribute.append(helper.make_attribute(STATE_CODES, codes))
    ports = [
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name, shape in all_]
        for all_ in (given.items(), (("y", (steps, *state)), ("last", state)))
    ]
    return helper.make_model(
        helper.make_graph([node], "lstm", *ports),
        opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_FORMAT,
    )
