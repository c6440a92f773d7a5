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
from match_aie.frontend.tflite_operators import Converter, Notes
from match_aie.frontend.tflite_state import Stateless
from match_aie.limits import Limits


def load_tflite(
    data: bytes,
    *,
    name: str | None = None,
    shapes: Mapping[str, Sequence[int]] | None = None,
    limits: Limits = Limits(),
) -> Model:
    """Check and import a TFLite flatbuffer.

    Args:
        data: of the file.
        name: of the network; the model's own where None.
        shapes: of inputs with open sizes, by name; those of outputs follow.
        limits: how large a model is read.

    Raises:
        LimitError: the model is too large.
        ModelError: the bytes are damaged, the model has subgraphs for other things than first
            values of variables and branches, or dynamic shapes.
        UnsupportedOperatorError: listing every operator that cannot be compiled.
    """
    check_flatbuffer(data, limits)
    parsed = Stateless(tflite.Model.GetRootAs(data, 0), limits)
    graph = parsed.Subgraphs(0)
    graph.sizes = _given(graph, shapes or {})
    inputs = tuple(_port(graph, int(index)) for index in graph.InputsAsNumpy())
    notes = Notes()
    module = _import(parsed, notes, limits)
    if graph.sizes:
        graph.sizes |= _made(graph, module["main"])
    outputs = tuple(_port(graph, int(index)) for index in graph.OutputsAsNumpy())
    main = module["main"].without_attr("params").without_attr("num_input")
    module["main"] = main
    module, names = plain_parameters(module, _variable_labels(main, notes.labels))
    return Model(
        module=module,
        name=name or "network",
        inputs=inputs,
        outputs=outputs,
        source=data,
        format="tflite",
        states=parsed.states,
        labels=MappingProxyType(names),
    )


def _given(graph: Any, shapes: Mapping[str, Sequence[int]]) -> dict[int, tuple[int, ...]]:
    """Sizes of inputs that the caller gives, by number of the tensor.

    Raises:
        ModelError: the file fixes a size to another one.
    """
    found = {}
    for index in (int(each) for each in graph.InputsAsNumpy()):
        tensor, name = graph.Tensors(index), tensor_name(graph, index)
        shape = tuple(tensor.Shape(i) for i in range(tensor.ShapeLength()))
        if name not in shapes:
            continue
        wanted = tuple(int(size) for size in shapes[name])
        open_sizes = [tensor.ShapeSignature(i) < 0 for i in range(tensor.ShapeSignatureLength())]
        free = open_sizes if len(open_sizes) == len(shape) else [False] * len(shape)
        fits = len(wanted) == len(shape) and all(
            size == said or (other and size > 0)
            for size, said, other in zip(wanted, shape, free, strict=True)
        )
        if not fits:
            raise ModelError(
                f"the model fixes this input's shape to {list(shape)}"
                + (", but for sizes that it leaves open" if any(free) else ""),
                where=name,
            )
        if any(free):
            found[index] = wanted
    return found


def _made(graph: Any, function: Any) -> dict[int, tuple[int, ...]]:
    """Sizes of the outputs as they come of the inputs'."""
    result = function.body.body.ty
    types = result.fields if isinstance(result, relax.TupleType) else [result]
    pairs = zip(graph.OutputsAsNumpy(), types, strict=True)
    return {int(index): tuple(int(size) for size in ty.shape.values) for index, ty in pairs}


def _import(parsed: Any, notes: Notes, limits: Limits) -> Any:
    """TVM's import; whatever it raises names the operator it was at."""
    converter = partial(Converter, notes, limits)
    try:
        with contextlib.redirect_stdout(io.StringIO()), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return tflite_frontend.from_tflite(parsed, op_converter=converter)
    except ModelError:
        raise
    except Exception as error:
        text = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        why = f"TVM does not take it: {shorten(text, 160)}"
        if notes.progress:
            raise UnsupportedOperatorError([(*notes.progress[-1], why)]) from error
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


def _port(graph: Any, index: int) -> Port:
    """The port that a tensor of the model is."""
    tensor = graph.Tensors(index)
    name = tensor_name(graph, index)
    shape = tuple(tensor.Shape(i) for i in range(tensor.ShapeLength()))
    signature = [tensor.ShapeSignature(i) for i in range(tensor.ShapeSignatureLength())]
    unknown = index not in graph.sizes and any(size < 0 for size in signature[1:])
    if any(size < 1 for size in shape) or unknown:
        hint = f"give the sizes of the inputs: --shape {name}=1,...; shapes={{{name!r}: (1, ...)}}"
        raise ModelError("a shape is not static", where=f"tensor {name}", hint=hint)
    dtype = DTYPES.get(tensor.Type())
    if dtype is None:
        raise ModelError("tensors of this type are not compiled", where=f"tensor {name}")
    quantization = tensor.Quantization()
    if quantization is None or quantization.ScaleLength() != 1:
        return Port(name, dtype, shape)
    zero = int(quantization.ZeroPoint(0)) if quantization.ZeroPointLength() else 0
    return Port(name, dtype, shape, float(quantization.Scale(0)), zero)
