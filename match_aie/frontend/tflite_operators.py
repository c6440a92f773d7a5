"""Operators of TFLite files as Relax: TVM's converter, and what it lacks or has wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax.frontend.tflite import tflite_frontend

from match_aie import tvm_api
from match_aie.errors import ModelError, UnsupportedOperatorError
from match_aie.frontend.onnx_rewrite.spectra import LARGEST_TABLE, fourier
from match_aie.frontend.tflite_check import DTYPES, tensor_name
from match_aie.frontend.tflite_fold import FOLDED, Array, Known, fold, options_of, reachable
from match_aie.frontend.tflite_sparse import densified
from match_aie.limits import Limits

#: Operators that only move elements, so that they may work on the stored integers.
MOVES = frozenset(
    {"PAD", "TRANSPOSE", "SQUEEZE", "EXPAND_DIMS", "SLICE", "SPLIT_V", "STRIDED_SLICE", "PACK"}
    | {"TILE"}
)


#: Operators that are known for complex numbers, pairs of floats along a last axis.
COMPLEX = frozenset({"RFFT2D", "CAST", "SQUEEZE", "REAL", "IMAG", "COMPLEX_ABS"})
_COMPLEX64 = 8


@dataclass
class Notes:
    """What an import tells its caller, also where it ends early.

    Attributes:
        progress: (operator, name of its first result) of all that were begun.
        labels: (variable, name of the tensor that it is) of all that were bound.
    """

    progress: list[tuple[str, str]] = field(default_factory=list)
    labels: list[tuple[str, str]] = field(default_factory=list)


class Converter(tflite_frontend.OperatorConverter):
    """TVM's converter, an operator at a time, with a named variable for each result.

    What can be computed (`tflite_fold`) is, and is a constant to all that follow.
    """

    def __init__(self, notes: Notes, limits: Limits, *arguments: Any, **options: Any) -> None:
        """Note progress in `notes`; what is computed keeps to `limits`."""
        super().__init__(*arguments, **options)
        self._notes = notes
        self._limits = limits
        self._computed = 0
        self.convert_map |= {
            "CAST": self._convert_cast,
            "EXPAND_DIMS": self._convert_expand_dims,
            "RFFT2D": self._convert_rfft2d,
            "SQUEEZE": self._convert_squeeze,
        }

    def check_unsupported_ops(self) -> None:
        """List all operators that TVM does not take, with the names of their results."""
        refused = []
        operators = [self.subgraph.Operators(i) for i in range(self.subgraph.OperatorsLength())]
        computable = reachable([self._step(op) for op in operators], self._constants())
        for place, op in enumerate(operators):
            kind, label = self._describe(op)
            why = None if place in computable else self._problem(op, kind)
            if why is not None:
                refused.append((kind, label, why))
        if refused:
            raise UnsupportedOperatorError(refused)

    def _step(self, op: Any) -> tuple[str, list[int], list[int]]:
        """(name, operands, results) of an operator, tensors by number."""
        operands, results = op.InputsAsNumpy(), op.OutputsAsNumpy()
        numbers = [
            [int(t) for t in (found if op_has else ())]
            for found, op_has in ((operands, op.InputsLength()), (results, op.OutputsLength()))
        ]
        return str(self.get_op_code_str(op)), numbers[0], numbers[1]

    def _constants(self) -> set[int]:
        """Tensors whose content is in the file."""
        graph, model = self.subgraph, self.model
        return {
            i
            for i in range(graph.TensorsLength())
            if model.Buffers(graph.Tensors(i).Buffer()).DataLength()
        }

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
        tensors = [*self.get_input_tensors(op), *self.get_output_tensors(op)]
        if kind not in COMPLEX and any(_is_complex(tensor) for tensor in tensors):
            return "it is not known for complex numbers"
        if kind == "STRIDED_SLICE" and options_of(op, kind).Offset():
            return "an end that counts from the beginning is not compiled"
        inputs = [tensor.qnn_params for tensor in self.get_input_tensors(op)]
        outputs = [tensor.qnn_params for tensor in self.get_output_tensors(op)]
        if inputs and inputs[0] is None and any(inputs[1:]) and not any(outputs):
            return "its weights are quantised but not its activations; quantise both"
        if not any((*inputs, *outputs)) or kind in self._SUPPORTED_QUANTIZED_OPS:
            return None
        if kind not in MOVES:
            return "it is not known for quantised tensors"
        moved = self.get_input_tensors(op)[0]
        results = self.get_output_tensors(op)
        same = all(self.has_same_qnn_params(moved, result) for result in results)
        return None if same else "it changes the quantisation of its input"

    def convert_op_to_relax(self) -> None:
        """Convert operator by operator: compute it, or bind each result to a variable."""
        for index in range(self.subgraph.OperatorsLength()):
            op = self.subgraph.Operators(index)
            kind, label = self._describe(op)
            self._notes.progress.append((kind, label))
            if self._compute(op, kind):
                continue
            why = self._problem(op, kind)
            if why is not None:
                raise UnsupportedOperatorError([(kind, label, why)])
            self._bind(op, self.convert_map[kind](op=op), f"n{index}_", label)

    def _bind(self, op: Any, result: Any, name: str, label: str) -> None:
        """A variable for a call, and the operator's tensors are what came of it."""
        if result is None:
            return
        if isinstance(result, relax.Expr) and not isinstance(result, relax.Tuple):
            result = self.bb.normalize(result)
        if isinstance(result, tvm_api.CallNode):
            result = self.bb.emit(result, name)
            self._notes.labels.append((tvm_api.variable_name(result), label))
        outputs = self.get_output_tensors(op)
        for position, tensor in enumerate(outputs):
            value = result if len(outputs) == 1 else result[position]
            key = tflite_frontend.get_tensor_name(self.subgraph, tensor.tensor_idx)
            self.exp_tab.set_expr(key, value)

    def _compute(self, op: Any, kind: str) -> bool:
        """Whether the operator's results are known; they are then constants from here on."""
        outputs, inputs = self.get_output_tensors(op), self.get_input_tensors(op)
        dtypes = [DTYPES.get(tensor.tensor.Type()) for tensor in outputs]
        if not outputs or None in dtypes or any(t.tensor_idx < 0 for t in inputs):
            return False
        if kind == "SHAPE" and len(inputs) == 1:
            sizes = inputs[0].tensor
            shape = [sizes.Shape(i) for i in range(sizes.ShapeLength())]
            return self._keep(outputs, (np.array(shape, dtypes[0]),))
        if not all(self._is_known(t) for t in inputs):
            return False
        if kind == "DEQUANTIZE":
            made = _dequantised(self.get_tensor_value(inputs[0]), inputs[0])
            return self._keep(outputs, (made,))
        if kind == "DENSIFY":
            return self._keep(outputs, (self.get_tensor_value(inputs[0]),))
        if kind not in FOLDED or any(t.qnn_params for t in (*inputs, *outputs)):
            return False
        values = tuple(self.get_tensor_value(t) for t in inputs)
        try:
            known = Known(kind, values, options_of(op, kind), str(dtypes[0]))
        except ValueError:
            return False
        wide = max(np.dtype(known.dtype).itemsize, *(value.itemsize for value in values))
        most = (self._limits.constant_bytes - self._computed) // wide
        return self._keep(outputs, fold(known, most))

    def _is_known(self, tensor: Any) -> bool:
        """Whether a tensor's content is in the file, or was computed."""
        if self.is_prefetched(tensor.tensor_idx):
            return True
        sizes = [tensor.tensor.Shape(i) for i in range(tensor.tensor.ShapeLength())]
        there = tensor.buffer.DataLength() > 0 or 0 in sizes
        return there and not self.has_expr(tensor.tensor_idx)

    def _keep(self, tensors: Sequence[Any], values: Sequence[Array]) -> bool:
        """`values` are what the tensors hold from now on; False where there is not one for each.

        Raises:
            LimitError: what was computed takes too much.
        """
        if len(values) != len(tensors):
            return False
        for tensor, value in zip(tensors, values, strict=True):
            self._count(value.nbytes, tensor_name(self.subgraph, tensor.tensor_idx))
            self.set_prefetched_node(tensor.tensor_idx, value)
        return True

    def _count(self, size: int, where: str) -> None:
        """Bytes more that were computed.

        Raises:
            LimitError: all together take too much.
        """
        self._computed += size
        what = "constants that are computed take too much"
        self._limits.check("constant_bytes", self._computed, what, where)

    def get_tensors(self, tensors_idx_list: Any) -> list[Any]:
        """Tensors by number; those that are there already with the shapes that they have.

        Files of dynamic shapes say 1 where a size was not known when they were written.
        """
        found: list[Any] = super().get_tensors(tensors_idx_list)
        for tensor in found:
            if tensor.tensor_idx < 0:
                continue
            if self.is_prefetched(tensor.tensor_idx):
                shape = self.get_prefetched_node(tensor.tensor_idx).shape
            elif self.has_expr(tensor.tensor_idx):
                whole = tvm_api.shape_of(super().get_expr(tensor.tensor_idx))
                shape = whole[:-1] if _is_complex(tensor) else whole
            else:
                continue
            if shape != tuple(tensor.tensor.Shape(i) for i in range(tensor.tensor.ShapeLength())):
                tensor.tensor = _Sized(tensor.tensor, shape)
        return found

    def get_tensor_value(self, tensor_wrapper: Any, is_sparse: bool = False) -> Any:
        """A tensor's content, computed ones included."""
        if not is_sparse and self.is_prefetched(tensor_wrapper.tensor_idx):
            return self.get_prefetched_node(tensor_wrapper.tensor_idx)
        if not tensor_wrapper.buffer.DataLength() and self._is_known(tensor_wrapper):
            shape = tensor_wrapper.tensor.ShapeAsNumpy()
            return np.zeros(shape, self.get_tensor_type_as_numpy(tensor_wrapper))
        if tensor_wrapper.tensor.Sparsity() is None:
            return super().get_tensor_value(tensor_wrapper, is_sparse)
        values = super().get_tensor_value(tensor_wrapper, True)
        try:
            return densified(tensor_wrapper.tensor, values)
        except ValueError as error:
            where = f"tensor {tensor_name(self.subgraph, tensor_wrapper.tensor_idx)}"
            raise ModelError(f"a sparse tensor is damaged: {error}", where=where) from error

    def get_expr(self, input_tensor_idx: int) -> Any:
        """A tensor's expression; constants that no operator made included."""
        if not self.has_expr(input_tensor_idx):
            return self.get_tensor_expr(self.get_tensors([input_tensor_idx])[0])
        return super().get_expr(input_tensor_idx)

    def _convert_expand_dims(self, op: Any) -> Any:
        """`EXPAND_DIMS`; TVM's own passes an argument too many."""
        data, axis = self.get_input_tensors(op)
        return relax.op.expand_dims(
            self.get_expr(data.tensor_idx), int(self.get_tensor_value(axis))
        )

    def _convert_cast(self, op: Any) -> Any:
        """`CAST`; of a complex number its real part, which TVM's own forgets."""
        (data,), (result,) = self.get_input_tensors(op), self.get_output_tensors(op)
        if not _is_complex(data) or _is_complex(result):
            return self.convert_cast(op)
        real = relax.op.take(
            self.get_expr(data.tensor_idx), relax.const(0, "int64"), axis=-1, mode="fast"
        )
        return relax.op.astype(real, self.get_tensor_type_str(result.tensor.Type()))

    def _convert_squeeze(self, op: Any) -> Any:
        """`SQUEEZE`; axes of complex numbers are counted without the pair's."""
        (data,) = self.get_input_tensors(op)
        shape = (
            [int(size) for size in data.tensor.ShapeAsNumpy()] if data.tensor.ShapeLength() else []
        )
        given = options_of(op, "SQUEEZE")
        axes = [given.SqueezeDims(i) % len(shape) for i in range(given.SqueezeDimsLength())]
        axes = axes or [i for i, size in enumerate(shape) if size == 1]
        return relax.op.squeeze(self.get_expr(data.tensor_idx), axes)

    def _convert_rfft2d(self, op: Any) -> Any:
        """`RFFT2D` of single rows: a product with cosines and sines, which modules take.

        TVM's own wants the result's shape in the file, and takes a loop for each of its numbers.
        """
        data, sizes = self.get_input_tensors(op)
        shape = [int(size) for size in data.tensor.ShapeAsNumpy()]
        lengths = [int(n) for n in self.get_tensor_value(sizes)]
        bins = lengths[-1] // 2 + 1
        too_long = lengths[-1] * bins * 2 > LARGEST_TABLE
        if lengths != shape[-2:] or lengths[0] != 1 or too_long:
            return self.convert_rfft2d(op)
        turned = fourier(lengths[1], lengths[1], bins).reshape(lengths[1], -1)
        self._count(turned.size * 4, "cosines and sines")
        table = relax.const(turned.astype(np.float32), "float32")
        flat = relax.op.reshape(self.get_expr(data.tensor_idx), (-1, lengths[1]))
        pairs = relax.op.matmul(flat, table)
        return relax.op.reshape(pairs, (*shape[:-1], bins, 2))


class _Sized:
    """A tensor of the file with another shape than it says."""

    def __init__(self, tensor: Any, shape: tuple[int, ...]) -> None:
        self._tensor = tensor
        self._shape = shape

    def __getattr__(self, name: str) -> Any:
        """All else is the tensor's."""
        return getattr(self._tensor, name)

    def Shape(self, place: int) -> int:
        """One size."""
        return self._shape[place]

    def ShapeLength(self) -> int:
        """How many sizes there are."""
        return len(self._shape)

    def ShapeAsNumpy(self) -> Array:
        """All sizes."""
        return np.array(self._shape, np.int32)


def _is_complex(tensor: Any) -> bool:
    """Whether a tensor's elements are pairs."""
    return tensor.tensor_idx >= 0 and tensor.tensor.Type() == _COMPLEX64


def _dequantised(stored: Array, tensor: Any) -> Array:
    """What a constant's stored numbers stand for, in float32 (TFLite's reference kernel)."""
    if tensor.qnn_params is None:
        return stored.astype(np.float32)
    scale = tvm_api.constant_value(tensor.qnn_params["scale"])
    zero = tvm_api.constant_value(tensor.qnn_params["zero_point"])
    if scale.ndim:
        along = [1] * stored.ndim
        along[tensor.qnn_params["axis"]] = -1
        scale = scale.reshape(along)
    return (stored.astype(np.int32) - zero).astype(np.float32) * scale.astype(np.float32)
