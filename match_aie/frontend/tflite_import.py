"""TFLite models through TVM's importer."""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Mapping, Sequence
from functools import partial
from types import MappingProxyType
from typing import Any

import tflite
from tvm import relax
from tvm.relax.frontend.tflite import tflite_frontend

from match_aie import tvm_api
from match_aie.errors import ModelError, UnsupportedOperatorError, shorten
from match_aie.frontend.model import Model, Port
from match_aie.frontend.relax_ports import plain_parameters
from match_aie.frontend.tflite_check import DTYPES, check_flatbuffer, tensor_name
from match_aie.limits import Limits

#: Operators that only move elements, so that they may work on the stored integers.
MOVES = frozenset(
    {"PAD", "TRANSPOSE", "SQUEEZE", "EXPAND_DIMS", "SLICE", "STRIDED_SLICE", "PACK", "TILE"}
)


def load_tflite(
    data: bytes,
    *,
    name: str | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    limits: Limits = Limits(),
) -> Model:
    """Check and import a TFLite flatbuffer.

    Raises:
        LimitError: the model is too large.
        ModelError: the bytes are damaged, the model has several subgraphs, or dynamic shapes.
        UnsupportedOperatorError: listing every operator that cannot be compiled.
    """
    check_flatbuffer(data, limits)
    parsed = tflite.Model.GetRootAs(data, 0)
    graph = parsed.Subgraphs(0)
    inputs = tuple(_port(graph, int(index)) for index in graph.InputsAsNumpy())
    outputs = tuple(_port(graph, int(index)) for index in graph.OutputsAsNumpy())
    for port in inputs:
        wanted = tuple((shapes or {}).get(port.name, port.shape))
        if wanted != port.shape:
            raise ModelError(
                f"the model fixes this input's shape to {list(port.shape)}", where=port.name
            )
    labels: list[tuple[str, str]] = []
    module = _import(parsed, labels)
    main = module["main"].without_attr("params").without_attr("num_input")
    module["main"] = main
    module, names = plain_parameters(module, _variable_labels(main, labels))
    return Model(
        module=module,
        name=name or "network",
        inputs=inputs,
        outputs=outputs,
        source=data,
        format="tflite",
        labels=MappingProxyType(names),
    )


def _import(parsed: Any, labels: list[tuple[str, str]]) -> Any:
    """TVM's import; whatever it raises names the operator it was at."""
    progress: list[tuple[str, str]] = []
    converter = partial(_Converter, progress, labels)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tflite_frontend.from_tflite(parsed, op_converter=converter)
    except ModelError:
        raise
    except Exception as error:
        text = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        why = f"TVM does not take it: {shorten(text, 160)}"
        if progress:
            raise UnsupportedOperatorError([(*progress[-1], why)]) from error
        raise ModelError(f"the model cannot be imported: {shorten(text)}") from error


def _variable_labels(function: Any, marks: Sequence[tuple[str, str]]) -> dict[str, str]:
    """Label of every bound variable: that of the operator which was being converted."""
    ends = dict(marks)
    found: dict[str, str] = {}
    waiting: list[str] = []
    for var, _ in tvm_api.bindings(function):
        waiting.append(tvm_api.variable_name(var))
        if waiting[-1] in ends:
            found |= dict.fromkeys(waiting, ends[waiting[-1]])
            waiting.clear()
    last = next(reversed(found.values()), "")
    return found | dict.fromkeys(waiting, last)


class _Converter(tflite_frontend.OperatorConverter):
    """TVM's converter, an operator at a time, with a named variable for each result."""

    def __init__(
        self,
        progress: list[tuple[str, str]],
        labels: list[tuple[str, str]],
        *arguments: Any,
        **options: Any,
    ) -> None:
        """Note where the conversion is in `progress`, and variable labels in `labels`."""
        super().__init__(*arguments, **options)
        self._progress = progress
        self._marks = labels

    def check_unsupported_ops(self) -> None:
        """List all operators that TVM does not take, with the names of their results."""
        refused = []
        for index in range(self.subgraph.OperatorsLength()):
            op = self.subgraph.Operators(index)
            kind, label = self._describe(op)
            why = self._problem(op, kind)
            if why is not None:
                refused.append((kind, label, why))
        if refused:
            raise UnsupportedOperatorError(refused)

    def _describe(self, op: Any) -> tuple[str, str]:
        """(operator, name of its first result)."""
        kind = str(self.get_op_code_str(op))
        outputs = op.OutputsAsNumpy()
        named = op.OutputsLength() > 0
        return kind, tensor_name(self.subgraph, int(outputs[0])) if named else kind

    def _problem(self, op: Any, kind: str) -> str | None:
        """Why an operator is refused, None where it is not."""
        if kind not in self.convert_map:
            return "no such operator is known here"
        inputs = [tensor.qnn_params for tensor in self.get_input_tensors(op)]
        outputs = [tensor.qnn_params for tensor in self.get_output_tensors(op)]
        if inputs and inputs[0] is None and any(inputs[1:]) and not any(outputs):
            return "its weights are quantised but not its activations; quantise both"
        if not any((*inputs, *outputs)) or kind in self._SUPPORTED_QUANTIZED_OPS:
            return None
        if kind not in MOVES:
            return "it is not known for quantised tensors"
        same = self.has_same_qnn_params(
            self.get_input_tensors(op)[0], self.get_output_tensors(op)[0]
        )
        return None if same else "it changes the quantisation of its input"

    def convert_op_to_relax(self) -> None:
        """Convert operator by operator, binding each result to a variable."""
        for index in range(self.subgraph.OperatorsLength()):
            op = self.subgraph.Operators(index)
            kind, label = self._describe(op)
            self._progress.append((kind, label))
            result = self.convert_map[kind](op=op)
            if result is None:
                continue
            if isinstance(result, relax.Expr) and not isinstance(result, relax.Tuple):
                result = self.bb.normalize(result)
            if isinstance(result, tvm_api.CallNode):
                result = self.bb.emit(result, f"n{index}_")
                self._marks.append((tvm_api.variable_name(result), label))
            outputs = self.get_output_tensors(op)
            for position, tensor in enumerate(outputs):
                value = result if len(outputs) == 1 else result[position]
                key = tflite_frontend.get_tensor_name(self.subgraph, tensor.tensor_idx)
                self.exp_tab.set_expr(key, value)


def _port(graph: Any, index: int) -> Port:
    """The port that a tensor of the model is."""
    tensor = graph.Tensors(index)
    name = tensor_name(graph, index)
    shape = tuple(tensor.Shape(i) for i in range(tensor.ShapeLength()))
    signature = [tensor.ShapeSignature(i) for i in range(tensor.ShapeSignatureLength())]
    if any(size < 1 for size in shape) or any(size < 0 for size in signature[1:]):
        raise ModelError("a shape is not static", where=f"tensor {name}")
    dtype = DTYPES.get(tensor.Type())
    if dtype is None:
        raise ModelError("tensors of this type are not compiled", where=f"tensor {name}")
    quantization = tensor.Quantization()
    if quantization is None or quantization.ScaleLength() != 1:
        return Port(name, dtype, shape)
    zero = int(quantization.ZeroPoint(0)) if quantization.ZeroPointLength() else 0
    return Port(name, dtype, shape, float(quantization.Scale(0)), zero)
