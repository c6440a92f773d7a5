"""From a simplified ONNX graph to Relax, through TVM's importer."""

from __future__ import annotations

import contextlib
import io
import math
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import onnx
import tvm
from onnx import helper
from tvm import relax
from tvm.relax.frontend.onnx import onnx_frontend

from match_aie import tvm_api
from match_aie.errors import InternalError, UnsupportedOperatorError, shorten
from match_aie.frontend.onnx_composites import arguments, body_model, describe, is_joined
from match_aie.frontend.onnx_rewrite.functions import alone
from match_aie.frontend.onnx_rewrite.graph import Graph, Node, Refusal, opset_of
from match_aie.frontend.onnx_rewrite.support import COMPOSITES
from match_aie.frontend.onnx_shapes import infer_shapes
from match_aie.frontend.onnx_unwritten import is_too_long, unwritten
from match_aie.limits import Limits

#: Integers that are floats exactly: a clip of these is one operator.
SMALL = ("int8", "uint8", "int16", "uint16")

Expr = Any


def import_graph(
    model: onnx.ModelProto, labels: Mapping[str, str], limits: Limits
) -> tuple[Expr, dict[str, str]]:
    """The Relax module of `model`, and Relax variable name -> label.

    Args:
        model: as `onnx_rewrite.rewrite` leaves it.
        labels: node name -> what the user calls the node.
        limits: up to how many steps a recurrent layer is written out.

    Raises:
        UnsupportedOperatorError: for the first node that TVM does not take.
    """
    with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        helpers, functions, keys = _import_composites(model, labels, limits)
        importer = _Importer(model, labels, helpers)
        importer.add_composites(functions, keys)
        module = importer.finish(model)
    module["main"] = module["main"].without_attr("num_input")
    return module, _variable_labels(module["main"], labels)


def _import_composites(
    model: onnx.ModelProto, labels: Mapping[str, str], limits: Limits
) -> tuple[Expr, dict[bytes, Expr], dict[str, bytes]]:
    """The bodies of all composites.

    Returns:
        A module of the tensor functions that they call, body key -> Relax function, and node
        output -> body key.
    """
    helpers, graph = tvm.IRModule(), Graph(model)
    functions: dict[bytes, Expr] = {}
    keys: dict[str, bytes] = {}
    for proto in model.graph.node:
        node = Node(proto, graph.opset)
        if node.op not in COMPOSITES:
            continue
        try:
            if is_too_long(node, graph, limits):
                key = repr(alone(node, graph)).encode()
                functions.setdefault(key, unwritten(node, graph, limits))
                keys[_result(proto)] = key
                continue
            body, facts = body_model(node, graph), describe(node, graph)
            key = body.SerializeToString(deterministic=True) + repr(facts).encode()
            if key not in functions:
                helpers, functions[key] = _import_body(body, facts, helpers)
        except (UnsupportedOperatorError, Refusal) as error:
            raise _unsupported(node, labels, error) from error
        keys[_result(proto)] = key
    return helpers, functions, keys


def _import_body(
    body: onnx.ModelProto, facts: Mapping[str, str], helpers: Expr
) -> tuple[Expr, Expr]:
    """(`helpers` with what the body calls, the body's Relax function)."""
    module = _Importer(body, {}, helpers).finish(body)
    function = module["main"].without_attr("global_symbol").without_attr("num_input")
    for name, value in facts.items():
        function = function.with_attr(name, value)
    rest = {v: f for v, f in module.functions.items() if v.name_hint != "main"}
    return tvm.IRModule(rest), function


def single_composite(model: onnx.ModelProto, limits: Limits) -> Expr:
    """The composite function of the only node of `model`, which is a recurrent layer.

    Args:
        model: every input of the node an input of it, too.
        limits: up to how many steps a layer is written out.
    """
    graph = Graph(infer_shapes(model))
    node = Node(graph.proto.node[0], graph.opset)
    if is_too_long(node, graph, limits):
        return unwritten(node, graph, limits)
    helpers, function = _import_body(body_model(node, graph), describe(node, graph), tvm.IRModule())
    if len(helpers.functions):
        raise InternalError(f"the body of {node.op} calls functions")
    return function


def _unsupported(
    node: Node, labels: Mapping[str, str], error: Exception
) -> UnsupportedOperatorError:
    """`error`, met at `node`, as the user should read it."""
    text = (str(error).strip().splitlines() or [type(error).__name__])[-1]
    why = f"TVM does not take it: {shorten(text, 160)}"
    if isinstance(error, UnsupportedOperatorError):
        why = "; ".join(f"{op}: {inner}" for op, _, inner in error.operators[:3])
    elif isinstance(error, Refusal):
        why = str(error)
    return UnsupportedOperatorError([(node.op, labels.get(node.proto.name, node.op), why)])


def _result(proto: onnx.NodeProto) -> str:
    """The first output that is there."""
    return next(name for name in proto.output if name)


def _variable_labels(function: Expr, labels: Mapping[str, str]) -> dict[str, str]:
    """Label of every bound variable; a helper value takes that of the node it leads up to."""
    found: dict[str, str] = {}
    waiting: list[str] = []
    for var, _ in tvm_api.bindings(function):
        name = tvm_api.variable_name(var)
        waiting.append(name)
        node = name.split("_")[0] + "_"
        if node in labels:
            found |= dict.fromkeys(waiting, labels[node])
            waiting.clear()
    return found | {name: found[last] for last in list(found)[-1:] for name in waiting}


class _Importer(onnx_frontend.ONNXGraphImporter):
    """TVM's importer, a node at a time: failures name the node, variables are named after it."""

    def __init__(self, model: onnx.ModelProto, labels: Mapping[str, str], helpers: Expr) -> None:
        """Import `model` beside the functions in `helpers`; inputs have static shapes."""
        super().__init__({}, {}, keep_params_in_input=False, sanitize=False)
        self.bb = relax.BlockBuilder(helpers)
        self._labels = labels
        self._graph = Graph(model)
        self._composites: dict[str, Expr] = {}

    def finish(self, model: onnx.ModelProto) -> Expr:
        """The module; where the import fails, the builder is left empty so that it is silent."""
        try:
            return self.from_onnx(model.graph, opset_of(model))
        except Exception:
            with contextlib.suppress(Exception):
                while True:
                    self.bb._end_block()
            raise

    def add_composites(self, functions: Mapping[bytes, Expr], keys: Mapping[str, bytes]) -> None:
        """Make private functions of composite bodies; `keys` says which node calls which."""
        variables: dict[bytes, Expr] = {}
        for key, function in functions.items():
            kind = str(function.attrs["Composite"]).replace(".", "_").lower()
            variables[key] = self.bb.add_func(function, f"{kind}_{len(variables)}")
        self._composites = {name: variables[key] for name, key in keys.items()}

    def _check_for_unsupported_ops(self, graph: onnx.GraphProto) -> None:
        """Nothing: the pre-pass has looked."""

    def _construct_nodes(self, graph: onnx.GraphProto) -> None:
        """Convert node by node, binding each result to a variable named after its node."""
        for proto in graph.node:
            try:
                self._convert(proto)
            except UnsupportedOperatorError:
                raise
            except Exception as error:
                raise _unsupported(Node(proto, self.opset), self._labels, error) from error
            for name in filter(None, proto.output):
                self._bind(proto, name)

    def _convert(self, proto: onnx.NodeProto) -> None:
        node = Node(proto, self.opset)
        if node.op in COMPOSITES:
            self._call_composite(node)
        elif node.op == "ConvInteger":
            self._nodes[proto.output[0]] = self._convolve_integers(node)
        elif node.op == "CumProd":
            axis = int(tvm_api.constant_value(self._nodes[node.input(1)]).reshape(-1)[0])
            exclusive = bool(node.attr("exclusive", 0))
            data = self._nodes[node.input(0)]
            self._nodes[proto.output[0]] = relax.op.cumprod(data, axis, exclusive=exclusive)
        elif node.op == "Clip" and self._bounds(node) is not None:
            low, high = self._bounds(node) or (0.0, 0.0)
            self._nodes[proto.output[0]] = relax.op.clip(self._nodes[node.input(0)], low, high)
        else:
            single = onnx.GraphProto()
            single.node.append(proto)
            super()._construct_nodes(single)

    def _bounds(self, node: Node) -> tuple[float, float] | None:
        """Constant bounds of a Clip of floats or small integers; None where they are none."""
        dtype = tvm_api.dtype_of(self._nodes[node.input(0)])
        if dtype not in ("float32", *SMALL):
            return None
        ends = (-math.inf, math.inf)
        if dtype in SMALL:
            ends = (float(np.iinfo(dtype).min), float(np.iinfo(dtype).max))
        found = []
        for at, missing in zip((1, 2), ends, strict=True):
            bound = self._nodes[node.input(at)] if node.input(at) else None
            if bound is not None and not tvm_api.is_constant(bound):
                return None
            found.append(missing if bound is None else tvm_api.constant_value(bound).item())
        low, high = found
        # Where the bounds cross or are NaN, ONNX and Relax differ.
        return (low, high) if low <= high else None

    def _bind(self, proto: onnx.NodeProto, name: str) -> None:
        """Bind a computed tensor, and check that its shape is static and as ONNX says."""
        value = self._nodes[name]
        if isinstance(value, tvm_api.CallNode):
            value = self._nodes[name] = self.bb.emit(value, _hint(proto))
        why = _shape_problem(value, self._graph, name)
        if why is not None:
            label = self._labels.get(proto.name, proto.name)
            raise UnsupportedOperatorError([(Node(proto, self.opset).op, label, why)])

    def _convolve_integers(self, node: Node) -> Expr:
        """ConvInteger: a convolution of int32, exact modulo 2**32 as ONNX wants it."""
        sides = []
        for at, zero_at in ((0, 2), (1, 3)):
            side = relax.op.astype(self._nodes[node.input(at)], "int32")
            if node.input(zero_at):
                zero = self._nodes[node.input(zero_at)]
                shape = [int(size) for size in zero.ty.shape]
                zero = relax.op.astype(zero, "int32")
                if at == 1 and shape not in ([], [1]):
                    rank = len(self._graph.shape(node.input(at)))
                    zero = relax.op.reshape(zero, (shape[0], *[1] * (rank - 1)))
                side = relax.op.subtract(side, zero)
            sides.append(self.bb.normalize(side))
        inputs = onnx_frontend.onnx_input()
        inputs.extend(sides)
        attributes = {**self._parse_attr(node.proto.attribute), "tvm_custom": {}}
        return self._convert_operator("Conv", inputs, attributes, self.opset)

    def _call_composite(self, node: Node) -> None:
        """Call the private function that holds the body of `node`."""
        values = [self._nodes[name] for name in arguments(node, self._graph)]
        call = relax.Call(self._composites[_result(node.proto)], values)
        result = self.bb.emit(call, _hint(node.proto))
        outputs = [name for name in node.outputs if name]
        if is_joined(node, self._graph):
            self._take_apart(node, result)
            return
        for position, name in enumerate(outputs):
            single = len(outputs) == 1
            item = result if single else relax.TupleGetItem(result, position)
            self._nodes[name] = item if single else self.bb.emit(item, _hint(node.proto))

    def _take_apart(self, node: Node, joined: Expr) -> None:
        """The states and the last cell, of the one result that has both."""
        steps, *rest = self._graph.shape(node.outputs[0])
        parts = ((0, steps, (steps, *rest)), (steps, steps + 1, tuple(rest)))
        for name, (begin, end, shape) in zip(filter(None, node.outputs), parts, strict=True):
            part = relax.op.strided_slice(joined, axes=[0], begin=[begin], end=[end])
            part = self.bb.emit(part, _hint(node.proto))
            shaped = relax.op.reshape(part, shape) if begin else part
            self._nodes[name] = self.bb.emit(shaped, _hint(node.proto)) if begin else shaped


def _hint(proto: onnx.NodeProto) -> str:
    """What to call a node's result; nodes of composite bodies have no names."""
    return proto.name or "t_"


def _shape_problem(value: Expr, graph: Graph, name: str) -> str | None:
    """What is wrong with the type of an imported value, None where nothing is."""
    info = graph.info(name)
    if not isinstance(value.ty, relax.TensorType):
        return "TVM does not import its result as a tensor"
    try:
        shape = tvm_api.shape_of(value)
    except TypeError:
        return "the shape of its result depends on the data"
    if info is not None and info.shape is not None and info.shape != shape:
        return f"TVM imports its result with shape {shape} instead of {info.shape}"
    if info is not None and info.dtype:
        wanted = str(helper.tensor_dtype_to_np_dtype(info.dtype))
        if wanted != tvm_api.dtype_of(value):
            return f"TVM imports its result as {tvm_api.dtype_of(value)} instead of {wanted}"
    return None
