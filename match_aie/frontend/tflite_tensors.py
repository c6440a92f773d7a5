"""Tensors of a TFLite file while it is imported: which are known, and of what shape they are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from tvm import relax
from tvm.relax.frontend.tflite import tflite_frontend

from match_aie import tvm_api
from match_aie.errors import ModelError, UnsupportedOperatorError
from match_aie.frontend.tflite_check import tensor_name
from match_aie.frontend.tflite_fold import Array
from match_aie.frontend.tflite_sparse import densified
from match_aie.limits import Limits

_COMPLEX64 = 8


class Tensors(tflite_frontend.OperatorConverter):
    """TVM's converter, as far as it looks tensors up."""

    def __init__(self, limits: Limits, *arguments: Any, **options: Any) -> None:
        """What is computed keeps to `limits`."""
        super().__init__(*arguments, **options)
        self.limits = limits
        self._computed = 0

    def constants(self) -> set[int]:
        """Tensors whose content is in the file."""
        graph, model = self.subgraph, self.model
        return {
            i
            for i in range(graph.TensorsLength())
            if model.Buffers(graph.Tensors(i).Buffer()).DataLength()
        }

    def is_known(self, tensor: Any) -> bool:
        """Whether a tensor's content is in the file, or was computed."""
        if self.is_prefetched(tensor.tensor_idx):
            return True
        sizes = [tensor.tensor.Shape(i) for i in range(tensor.tensor.ShapeLength())]
        there = tensor.buffer.DataLength() > 0 or 0 in sizes
        return there and not self.has_expr(tensor.tensor_idx)

    def keep(self, tensors: Sequence[Any], values: Sequence[Array]) -> bool:
        """`values` are what the tensors hold from now on; False where there is not one for each.

        Raises:
            LimitError: what was computed takes too much.
        """
        if len(values) != len(tensors):
            return False
        for tensor, value in zip(tensors, values, strict=True):
            self.count(value.nbytes, tensor_name(self.subgraph, tensor.tensor_idx))
            self.set_prefetched_node(tensor.tensor_idx, value)
        return True

    def count(self, size: int, where: str) -> None:
        """Bytes more that were computed.

        Raises:
            LimitError: all together take too much.
        """
        self._computed += size
        what = "constants that are computed take too much"
        self.limits.check("constant_bytes", self._computed, what, where)

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
                shape = whole[:-1] if is_complex(tensor) else whole
            else:
                continue
            if shape != tuple(tensor.tensor.Shape(i) for i in range(tensor.tensor.ShapeLength())):
                tensor.tensor = Sized(tensor.tensor, shape)
        return found

    def get_tensor_value(self, tensor_wrapper: Any, is_sparse: bool = False) -> Any:
        """A tensor's content, computed ones included."""
        if not is_sparse and self.is_prefetched(tensor_wrapper.tensor_idx):
            return self.get_prefetched_node(tensor_wrapper.tensor_idx)
        if not tensor_wrapper.buffer.DataLength() and self.is_known(tensor_wrapper):
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

    def describe(self, op: Any) -> tuple[str, str]:
        """(operator, name of its first result)."""
        kind = str(self.get_op_code_str(op))
        outputs = op.OutputsAsNumpy()
        named = op.OutputsLength() > 0
        return kind, tensor_name(self.subgraph, int(outputs[0])) if named else kind

    def emit(self, value: Any) -> Any:
        """A variable for a call; all else is itself."""
        return self.bb.emit(value) if isinstance(value, tvm_api.CallNode) else value

    def check_shape(self, op: Any, tensor: Any, value: Any) -> None:
        """Refuse a result of another shape than the file says it has.

        A size of 1, and a tensor without dimensions, may stand for what was not known; so may what
        the file leaves open.

        Raises:
            UnsupportedOperatorError: they differ.
        """
        ty = self.bb.normalize(value).ty
        if not isinstance(ty, relax.TensorType) or is_complex(tensor):
            return
        said = tuple(tensor.tensor.Shape(i) for i in range(tensor.tensor.ShapeLength()))
        shape = tuple(int(size) for size in ty.shape.values)
        left = range(tensor.tensor.ShapeSignatureLength())
        free = {at for at in left if tensor.tensor.ShapeSignature(at) < 0}
        alike = len(said) == len(shape) and all(
            size in (1, made) or at in free
            for at, (size, made) in enumerate(zip(said, shape, strict=True))
        )
        if said and not alike:
            why = f"the file says that its result is {list(said)}, and it comes as {list(shape)}"
            raise UnsupportedOperatorError([(*self.describe(op), why)])

    def value_of(self, tensor: Any) -> Any:
        """A tensor's expression, of which the type is known."""
        return self.bb.normalize(self.get_expr(tensor.tensor_idx))


class Sized:
    """A tensor of the file with another shape than it says."""

    def __init__(self, tensor: Any, shape: tuple[int, ...]) -> None:
        """`tensor` of `shape`."""
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


def is_complex(tensor: Any) -> bool:
    """Whether a tensor's elements are pairs."""
    return tensor.tensor_idx >= 0 and tensor.tensor.Type() == _COMPLEX64


def dequantised(stored: Array, tensor: Any) -> Array:
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


def quantisation_of(tensor: Any) -> tuple[np.float32, int]:
    """Scale and zero point of a tensor that has one of each; (0, 0) of one that has none."""
    if tensor.qnn_params is None:
        return np.float32(0), 0
    scale = tvm_api.constant_value(tensor.qnn_params["scale"])
    zero = tvm_api.constant_value(tensor.qnn_params["zero_point"])
    return np.float32(scale.flat[0]), int(zero.flat[0])
