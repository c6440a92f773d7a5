"""Operators of TFLite files as Relax: TVM's converter, and what it lacks or has wrong."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
import onnx
from tvm import relax
from tvm.relax.frontend.tflite import tflite_frontend

from match_aie import tvm_api
from match_aie.errors import UnsupportedOperatorError, shorten
from match_aie.frontend import (
    tflite_hybrid,
    tflite_integer_lstm,
    tflite_lstm,
    tflite_mended,
    tflite_moves,
    tflite_recurrent,
    tflite_transposed,
)
from match_aie.frontend.onnx_import import single_composite
from match_aie.frontend.onnx_rewrite.spectra import LARGEST_TABLE, fourier
from match_aie.frontend.tflite_check import DTYPES, tensor_name
from match_aie.frontend.tflite_fold import (
    FOLDED,
    Array,
    Known,
    fold,
    options_of,
    reachable,
    table_of,
)
from match_aie.frontend.tflite_site import OPTIONS, STATES, Site
from match_aie.frontend.tflite_tensors import Tensors, dequantised, is_complex, quantisation_of
from match_aie.limits import Limits

#: Operators that only move elements, so that they may work on the stored integers.
MOVES = frozenset(
    {"PAD", "TRANSPOSE", "SQUEEZE", "EXPAND_DIMS", "SLICE", "SPLIT_V", "STRIDED_SLICE", "PACK"}
    | {"TILE", "SPLIT", "UNPACK", "GATHER", "GATHER_ND", "MIRROR_PAD", "SPACE_TO_BATCH_ND"}
    | {"BATCH_TO_SPACE_ND", "DEPTH_TO_SPACE", "SPACE_TO_DEPTH", "RESIZE_NEAREST_NEIGHBOR"}
    | {"REVERSE_V2"}
)


#: Operators that are known for complex numbers, pairs of floats along a last axis.
COMPLEX = frozenset({"RFFT2D", "CAST", "SQUEEZE", "REAL", "IMAG", "COMPLEX_ABS"})


#: A custom operator that TVM knows.
POSTPROCESS = (b"TFLite_Detection_PostProcess",)


@dataclass
class Notes:
    """What an import tells its caller, also where it ends early.

    Attributes:
        progress: (operator, name of its first result) of all that were begun.
        labels: (variable, name of the tensor that it is) of all that were bound.
    """

    progress: list[tuple[str, str]] = field(default_factory=list)
    labels: list[tuple[str, str]] = field(default_factory=list)


class Converter(Tensors):
    """TVM's converter, an operator at a time, with a named variable for each result.

    What can be computed (`tflite_fold`) is, and is a constant to all that follow.
    """

    def __init__(self, notes: Notes, limits: Limits, *arguments: Any, **options: Any) -> None:
        """Note progress in `notes`; what is computed keeps to `limits`."""
        super().__init__(limits, *arguments, **options)
        self._notes = notes
        self.convert_map |= {
            "CAST": self._convert_cast,
            "CONV_2D": partial(self._convert_conv, "CONV_2D"),
            "DEPTHWISE_CONV_2D": partial(self._convert_conv, "DEPTHWISE_CONV_2D"),
            "FULLY_CONNECTED": self._convert_dense,
            "IF": self._convert_if,
            "RFFT2D": self._convert_rfft2d,
            "SQUEEZE": self._convert_squeeze,
            "WHILE": self._convert_while,
            **{kind: partial(move, self) for kind, move in tflite_moves.CONVERTED.items()},
            **{kind: partial(mended, self) for kind, mended in tflite_mended.MENDED.items()},
            **{kind: partial(made, self) for kind, made in tflite_transposed.CONVERTED.items()},
            **{kind: partial(self._convert_recurrent, kind) for kind in STATES},
        }

    def check_unsupported_ops(self) -> None:
        """List all operators that TVM does not take, with the names of their results."""
        refused = []
        operators = [self.subgraph.Operators(i) for i in range(self.subgraph.OperatorsLength())]
        computable = reachable([self._step(op) for op in operators], self.constants())
        for place, op in enumerate(operators):
            kind, label = self.describe(op)
            why = None if place in computable else self._problem(op, kind)
            if why is not None:
                refused.append((kind, label, why))
        if refused:
            raise UnsupportedOperatorError(refused)

    def get_op_code_str(self, op: Any) -> str:
        """Name of an operator; of a custom one the name that the file gives it."""
        custom = self.model.OperatorCodes(op.OpcodeIndex()).CustomCode()
        if custom and custom not in POSTPROCESS:
            return shorten(custom.decode("utf-8", "replace"), 60)
        return str(super().get_op_code_str(op))

    def _step(self, op: Any) -> tuple[str, list[int], list[int]]:
        """(name, operands, results) of an operator, tensors by number."""
        operands, results = op.InputsAsNumpy(), op.OutputsAsNumpy()
        numbers = [
            [int(t) for t in (found if op_has else ())]
            for found, op_has in ((operands, op.InputsLength()), (results, op.OutputsLength()))
        ]
        return str(self.get_op_code_str(op)), numbers[0], numbers[1]

    def _problem(self, op: Any, kind: str) -> str | None:
        """Why an operator is refused, None where it is not."""
        if kind not in self.convert_map or kind in tflite_mended.LIBRARY:
            custom = self.model.OperatorCodes(op.OpcodeIndex()).CustomCode()
            return f"no such {'custom ' if custom else ''}operator is known here"
        tensors = [*self.get_input_tensors(op), *self.get_output_tensors(op)]
        if kind not in COMPLEX and any(is_complex(tensor) for tensor in tensors):
            return "it is not known for complex numbers"
        if kind == "WHILE":
            return None  # its steps come before it: it gives what the last one gave
        if kind == "STRIDED_SLICE" and options_of(op, kind).Offset():
            return "an end that counts from the beginning is not compiled"
        inputs = [tensor.qnn_params for tensor in self.get_input_tensors(op)]
        outputs = [tensor.qnn_params for tensor in self.get_output_tensors(op)]
        if inputs and inputs[0] is None and any(inputs[1:]) and not any(outputs):
            if kind in tflite_lstm.KINDS:
                return self._recurrent_problem(op, kind)
            if kind not in tflite_hybrid.OPTIONS:
                return "its weights are quantised but not its activations; quantise both"
            return tflite_hybrid.problem(
                table_of(op, tflite_hybrid.OPTIONS[kind]), self.get_input_tensors(op)[1]
            )
        whole = kind in tflite_lstm.KINDS and bool(inputs and inputs[0]) and all(outputs)
        if kind in STATES and (whole or not any((*inputs, *outputs))):
            return self._recurrent_problem(op, kind)
        if not any((*inputs, *outputs)) or kind in self._SUPPORTED_QUANTIZED_OPS:
            return None
        if kind in ("ARG_MAX", "ARG_MIN") and not any(outputs):
            return None  # the same place, whatever the steps mean
        if kind not in MOVES:
            return "it is not known for quantised tensors"
        moved = self.get_input_tensors(op)[tflite_moves.DATA.get(kind, 0)]
        results = self.get_output_tensors(op)
        same = all(self.has_same_qnn_params(moved, result) for result in results)
        return None if same else "it changes the quantisation of its input"

    def convert_op_to_relax(self) -> None:
        """Convert operator by operator: compute it, or bind each result to a variable."""
        for index in range(self.subgraph.OperatorsLength()):
            op = self.subgraph.Operators(index)
            kind, label = self.describe(op)
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
            self.check_shape(op, tensor, value)
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
            return self.keep(outputs, (np.array(shape, dtypes[0]),))
        if not all(self.is_known(t) for t in inputs):
            return False
        if kind == "DEQUANTIZE":
            made = dequantised(self.get_tensor_value(inputs[0]), inputs[0])
            return self.keep(outputs, (made,))
        if kind == "DENSIFY":
            return self.keep(outputs, (self.get_tensor_value(inputs[0]),))
        if kind not in FOLDED or any(t.qnn_params for t in (*inputs, *outputs)):
            return False
        values = tuple(self.get_tensor_value(t) for t in inputs)
        try:
            known = Known(kind, values, options_of(op, kind), str(dtypes[0]))
        except ValueError:
            return False
        wide = max(np.dtype(known.dtype).itemsize, *(value.itemsize for value in values))
        most = (self.limits.constant_bytes - self._computed) // wide
        return self.keep(outputs, fold(known, most))

    def _recurrent_problem(self, op: Any, kind: str) -> str | None:
        """Why a recurrent operator is refused, None where it is not."""
        tensors, given = self.get_input_tensors(op), table_of(op, OPTIONS[kind])
        integers = bool(tensors and tensors[0].qnn_params)
        there = [tensor.tensor_idx >= 0 for tensor in tensors]
        why = tflite_recurrent.problem(kind, given, there, integers=integers)
        if why is not None or not any(tensor.qnn_params for tensor in tensors):
            return why
        if integers:
            return tflite_integer_lstm.problem(kind, given, tensors, self._inner(op))
        return tflite_lstm.hybrid_problem(kind, given, tensors)

    def _inner(self, op: Any) -> list[tuple[np.float32, int]]:
        """(scale, zero point) of what an operator says of its inner results."""
        numbers = [op.Intermediates(at) for at in range(op.IntermediatesLength())]
        return [quantisation_of(tensor) for tensor in self.get_tensors(numbers)]

    def _convert_recurrent(self, kind: str, op: Any) -> Any:
        """A recurrent operator; what it keeps is kept for the next call.

        Raises:
            LimitError: it has more steps than are written out.
            UnsupportedOperatorError: its weights are computed.
        """
        inputs, given = self.get_input_tensors(op), table_of(op, OPTIONS[kind])

        def constant(position: int) -> Array | None:
            if position >= len(inputs):
                return None
            stored = self._weights(inputs[position], op)
            return None if stored is None else dequantised(stored, inputs[position])

        def stored(position: int) -> Array | None:
            if position >= len(inputs) or inputs[position].tensor_idx < 0:
                return None
            known = self.is_known(inputs[position])
            return np.asarray(self.get_tensor_value(inputs[position])) if known else None

        def keep(position: int, value: Any) -> None:
            following = self.subgraph.following[inputs[position].tensor_idx]
            name = tflite_frontend.get_tensor_name(self.subgraph, following)
            self.exp_tab.set_expr(name, value)

        site = Site(
            kind=kind,
            given=given,
            constant=constant,
            value=lambda position: self.value_of(inputs[position]),
            keep=keep,
            emit=self.emit,
            hybrid=any(tensor.qnn_params for tensor in inputs),
            stored=stored,
            quantised=lambda position: quantisation_of(inputs[position]),
            inner=self._inner(op),
            layer=self._call_layer,
        )
        steps = tflite_recurrent.written_out(site)
        what = "the steps of a recurrent layer, which are written out, are too many"
        self.limits.check("recurrent_steps", steps, what, f"tensor {self.describe(op)[1]}")
        return tflite_recurrent.convert(site)

    def _call_layer(self, model: onnx.ModelProto, values: Sequence[Any]) -> Any:
        """Call a layer in ONNX's terms as a function of its own."""
        function = single_composite(model, self.limits)
        return self.emit(relax.Call(self.bb.add_func(function, "onnx_layer"), list(values)))

    def _convert_dense(self, op: Any) -> Any:
        """`FULLY_CONNECTED` of any kinds of weights and activations."""
        made = self._convert_hybrid(op, "FULLY_CONNECTED")
        return tflite_mended.dense(self, op) if made is None else made

    def _convert_conv(self, kind: str, op: Any) -> Any:
        """`CONV_2D` and `DEPTHWISE_CONV_2D`, likewise."""
        made = self._convert_hybrid(op, kind)
        plain = "conv2d" if kind == "CONV_2D" else "depthwise"
        return self.convert_conv(op, plain) if made is None else made

    def _convert_hybrid(self, op: Any, kind: str) -> Any:
        """A layer of int8 weights on floats; None where it is another one."""
        data, weight, *bias = self.get_input_tensors(op)
        if data.qnn_params is not None or weight.qnn_params is None:
            return None
        convert = {
            "FULLY_CONNECTED": tflite_hybrid.dense,
            "CONV_2D": tflite_hybrid.convolution,
            "DEPTHWISE_CONV_2D": tflite_hybrid.depthwise,
        }[kind]
        stored = self._weights(weight, op)
        if stored is None:
            return None
        wide = dequantised(stored, weight)
        self.count(wide.nbytes, tensor_name(self.subgraph, weight.tensor_idx))
        added = self._weights(bias[0], op) if bias else None
        given = table_of(op, tflite_hybrid.OPTIONS[kind])
        return convert(self.emit, given, self.value_of(data), wide, added)

    def _weights(self, tensor: Any, op: Any) -> Array | None:
        """A tensor's content; None where the operand is left out.

        Raises:
            UnsupportedOperatorError: it is computed.
        """
        if tensor.tensor_idx < 0:
            return None
        if not self.is_known(tensor):
            raise UnsupportedOperatorError([(*self.describe(op), "weights that are computed")])
        return np.asarray(self.get_tensor_value(tensor))

    def _convert_cast(self, op: Any) -> Any:
        """`CAST`; of a complex number its real part, which TVM's own forgets."""
        (data,), (result,) = self.get_input_tensors(op), self.get_output_tensors(op)
        if not is_complex(data) or is_complex(result):
            return self.convert_cast(op)
        real = relax.op.take(
            self.get_expr(data.tensor_idx), relax.const(0, "int64"), axis=-1, mode="fast"
        )
        return relax.op.astype(real, self.get_tensor_type_str(result.tensor.Type()))

    def _convert_if(self, op: Any) -> Any:
        """`IF`, whose operands are the condition and all that both branches give.

        Raises:
            UnsupportedOperatorError: branches give tensors of different shapes or types.
        """
        condition, *both = self.get_input_tensors(op)
        sides = both[: len(both) // 2], both[len(both) // 2 :]
        if self.is_known(condition):
            chosen = sides[0 if self.get_tensor_value(condition).any() else 1]
            return self._together([self.value_of(tensor) for tensor in chosen])
        asked, made = self.value_of(condition), []
        for yes, no in zip(*map(self._values, sides), strict=True):
            if tvm_api.shape_of(yes) != tvm_api.shape_of(no) or yes.ty.dtype != no.ty.dtype:
                why = "its branches give tensors of different shapes or types"
                raise UnsupportedOperatorError([(*self.describe(op), why)])
            ones = [1] * len(tvm_api.shape_of(yes))
            made.append(self.emit(relax.op.where(relax.op.reshape(asked, ones), yes, no)))
        return self._together(made)

    def _convert_while(self, op: Any) -> Any:
        """`WHILE`: what its last step gives, or a choice between two steps (`tflite_branches`)."""
        inputs = self.get_input_tensors(op)
        if len(inputs) != len(self.get_output_tensors(op)):
            return self._convert_if(op)
        return self._together(self._values(inputs))

    def _values(self, tensors: Any) -> list[Any]:
        return [self.value_of(tensor) for tensor in tensors]

    @staticmethod
    def _together(values: list[Any]) -> Any:
        return values[0] if len(values) == 1 else relax.Tuple(values)

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
        self.count(turned.size * 4, "cosines and sines")
        table = relax.const(turned.astype(np.float32), "float32")
        flat = relax.op.reshape(self.get_expr(data.tensor_idx), (-1, lengths[1]))
        pairs = relax.op.matmul(flat, table)
        return relax.op.reshape(pairs, (*shape[:-1], bins, 2))
