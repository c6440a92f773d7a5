"""Static shapes for ONNX models: a size for every input dimension, and inference of the rest."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from math import prod

import onnx
from onnx import TensorProto, helper, shape_inference

from match_aie.errors import ModelError, shorten

#: Names that exporters invent for a batch dimension nobody named.
UNNAMED = re.compile(r"(unk__\d+|\?|None|-1)?")

#: Longer vectors of integers are no shapes: inference does not follow their contents.
LONGEST_CONTENTS = 1 << 16

#: The first version of the format in which a stored tensor is no input.
STORED_APART = 4

#: Operators whose results may be far larger than their operands.
GROWS = frozenset(
    """CenterCropPad Col2Im ConstantOfShape Einsum Expand EyeLike OneHot Pad Range Resize Tile
    Upsample""".split()
)

#: Element types a network's inputs may have.
INPUT_TYPES = frozenset(
    getattr(TensorProto, name)
    for name in (
        *("BOOL", "INT8", "UINT8", "INT16", "UINT16", "INT32", "UINT32", "INT64", "UINT64"),
        *("FLOAT16", "BFLOAT16", "FLOAT", "DOUBLE"),
    )
)


def fix_input_shapes(model: onnx.ModelProto, shapes: Mapping[str, Sequence[int]]) -> list[str]:
    """Give every input of `model` a static shape, in place; returns what was assumed.

    A size of -1 is an unknown one. An unnamed leading dimension is taken as a batch of 1. A
    named dimension that `shapes` settles for one input holds for all. Initializers stop being
    inputs.

    Raises:
        ModelError: a dimension stays unknown, or `shapes` contradicts the model.
    """
    graph = model.graph
    stored = {tensor.name for tensor in graph.initializer}
    inputs = [value for value in graph.input if value.name not in stored]
    unknown = sorted(set(shapes) - {value.name for value in inputs})
    if unknown:
        raise ModelError(
            f"shapes given for {shorten(repr(unknown), 120)}, which is no input of the model",
            hint="the inputs are " + ", ".join(repr(shorten(i.name, 60)) for i in inputs[:8]),
        )
    for value in inputs:
        _check_type(value)
        _forget_minus_one(value)
    named: dict[str, int] = {}
    for value in inputs:
        if value.name in shapes:
            named |= _apply(value, [int(size) for size in shapes[value.name]])
    notes = [note for value in inputs for note in _settle(value, named)]
    if any(None in _sizes(value) for value in inputs):
        raise _dynamic(inputs)
    empty = [value for value in inputs if any(size is None or size < 1 for size in _sizes(value))]
    if empty:
        raise ModelError(
            f"an input has no elements, its shape is {_sizes(empty[0])}",
            where=f"input {empty[0].name}",
        )
    del graph.input[:]
    graph.input.extend(inputs)
    settled = {value.name: value.type for value in inputs}
    for value in graph.output:
        if value.name in settled:
            # Inference believes an output that has no shape.
            value.type.CopyFrom(settled[value.name])
    store_apart(model)
    _forget_dynamic(graph)
    return notes


def store_apart(model: onnx.ModelProto) -> None:
    """Call the model one of a format in which stored tensors are no inputs, in place.

    Of older ones, inference would not look at tensors that are stored only.
    """
    model.ir_version = max(model.ir_version, STORED_APART)


def _check_type(value: onnx.ValueInfoProto) -> None:
    """Refuse inputs that are no tensors of numbers."""
    kind = value.type.WhichOneof("value")
    dtype = value.type.tensor_type.elem_type
    if kind == "tensor_type" and dtype in INPUT_TYPES:
        return
    what = kind.removesuffix("_type") if kind else "value without a type"
    if kind == "tensor_type":
        known = dtype in TensorProto.DataType.values()
        name = TensorProto.DataType.Name(dtype).lower() if known else f"type number {dtype}"
        what = f"tensor of {name}"
    raise ModelError(
        f"an input is a {what}; inputs must be tensors of bool, integers or floats",
        where=f"input {value.name}",
    )


def _forget_minus_one(value: onnx.ValueInfoProto) -> None:
    """A size of -1, which some exporters write, is an unknown one."""
    for dim in value.type.tensor_type.shape.dim:
        if dim.HasField("dim_value") and dim.dim_value == -1:
            dim.Clear()


def _sizes(value: onnx.ValueInfoProto) -> list[int | None]:
    """Size of every dimension, None where unknown; [None] where the rank is."""
    tensor = value.type.tensor_type
    if not tensor.HasField("shape"):
        return [None]
    return [dim.dim_value if dim.HasField("dim_value") else None for dim in tensor.shape.dim]


def _apply(value: onnx.ValueInfoProto, sizes: list[int]) -> dict[str, int]:
    """Write `sizes` into `value`; returns the named dimensions that this settles."""
    tensor = value.type.tensor_type
    old = _sizes(value) if tensor.HasField("shape") else [None] * len(sizes)
    fits = len(old) == len(sizes) and all(o in (None, n) for o, n in zip(old, sizes, strict=True))
    if any(size < 1 for size in sizes):
        raise ModelError(
            f"shape {sizes} has no elements",
            where=f"input {value.name}",
            hint="give every dimension a size of at least 1",
        )
    if not fits:
        shown = [size if size is not None else "?" for size in old]
        raise ModelError(
            f"shape {sizes} does not fit the input, whose shape is {shown}",
            where=f"input {value.name}",
        )
    dims = list(tensor.shape.dim)
    names = [dim.dim_param for dim in dims] if tensor.HasField("shape") else []
    type_ = helper.make_tensor_type_proto(tensor.elem_type, sizes)
    value.type.CopyFrom(type_)
    return {name: size for name, size in zip(names, sizes, strict=False) if name}


def _settle(value: onnx.ValueInfoProto, named: Mapping[str, int]) -> list[str]:
    """Fill in named dimensions and an unnamed batch; returns the assumption, if one was made."""
    notes = []
    for position, dim in enumerate(value.type.tensor_type.shape.dim):
        if dim.HasField("dim_value"):
            continue
        if dim.dim_param in named and not UNNAMED.fullmatch(dim.dim_param):
            dim.dim_value = named[dim.dim_param]
        elif position == 0 and UNNAMED.fullmatch(dim.dim_param):
            dim.dim_value = 1
            notes.append(
                f"input {shorten(value.name, 60)!r}: the unnamed leading dimension is taken as "
                "a batch of 1"
            )
    return notes


def _dynamic(inputs: list[onnx.ValueInfoProto]) -> ModelError:
    """The error that shows how to give the missing sizes, with this model's inputs."""
    missing = [value for value in inputs if None in _sizes(value)]
    shown = {
        shorten(value.name, 60): [
            dim.dim_value if dim.HasField("dim_value") else shorten(dim.dim_param, 20) or "?"
            for dim in value.type.tensor_type.shape.dim
        ]
        for value in missing[:6]
    }
    example = {
        shorten(value.name, 60): [
            size or (1 if position == 0 else 32) for position, size in enumerate(_sizes(value))
        ]
        for value in missing[:6]
    }
    first, sizes = next(iter(example.items()))
    option = f"--shape {first}={','.join(map(str, sizes))}"
    ranks = [value for value in missing if not value.type.tensor_type.HasField("shape")]
    what = "inputs have dimensions without a size" if not ranks else "inputs have no shape"
    return ModelError(
        f"{what}: " + ", ".join(f"{name!r} {dims}" for name, dims in shown.items()),
        hint=f"give the sizes, such as {option}, or in Python shapes={example}",
    )


def _forget_dynamic(graph: onnx.GraphProto) -> None:
    """Drop symbolic sizes of outputs and inner values: inference finds numbers."""
    del graph.value_info[:]
    for value in graph.output:
        _forget_minus_one(value)
        tensor = value.type.tensor_type
        if any(not dim.HasField("dim_value") for dim in tensor.shape.dim):
            tensor.ClearField("shape")


def infer_shapes(model: onnx.ModelProto, *, strict: bool = True) -> onnx.ModelProto:
    """`model` with the type of every value that ONNX can infer written down.

    Not strict, contradictions leave types unknown: branches that are never taken may hold some.
    ONNX follows the contents of integer vectors too, as a message per element (130 bytes). Where
    one is long, or could turn out to be, its contents are not followed; folding finds them later.

    Raises:
        ModelError: the model contradicts itself.
    """
    plain = _inferred(model, strict=strict, contents=False)
    known = {value.name: value for value in plain.graph.value_info}
    # It follows what ConstantOfShape fills as integers, whatever the type, and sums of it.
    filled = {n.output[0] for n in plain.graph.node if n.op_type == "ConstantOfShape"}
    values = [*known.values(), *plain.graph.input]
    if any(_is_long(value, of_integers=value.name not in filled) for value in values) or any(
        len(tensor.dims) < 2 and prod(tensor.dims) > LONGEST_CONTENTS
        for tensor in plain.graph.initializer
    ):
        return plain
    left_out = [
        node
        for node in plain.graph.node
        if node.op_type in GROWS and any(_may_be_long(known.get(name)) for name in node.output)
    ]
    if not left_out:
        return _followed(plain)
    rest = onnx.ModelProto()
    rest.CopyFrom(plain)
    for node in left_out:
        rest.graph.node.remove(node)
        rest.graph.input.extend(known[name] for name in node.output if name in known)
    found = _followed(rest)
    del plain.graph.value_info[:], plain.graph.output[:]
    plain.graph.value_info.extend(found.graph.value_info)
    have = {value.name for value in plain.graph.value_info}
    made = (name for node in left_out for name in node.output)
    plain.graph.value_info.extend(known[n] for n in made if n in known and n not in have)
    plain.graph.output.extend(found.graph.output)
    return plain


def _followed(model: onnx.ModelProto) -> onnx.ModelProto:
    """Inference that follows contents, of a model that does not contradict itself without.

    ONNX follows matrices as the vectors that they were unsqueezed from, and then finds that a
    column and a row of other lengths cannot be added: what it cannot follow stays unknown.
    """
    return _inferred(model, strict=False, contents=True)


def _is_long(value: onnx.ValueInfoProto, *, of_integers: bool) -> bool:
    """Whether a value is a vector of very many elements; with `of_integers` others do not count."""
    tensor = value.type.tensor_type
    dims = tensor.shape.dim
    return (
        (not of_integers or tensor.elem_type in (TensorProto.INT32, TensorProto.INT64))
        and len(dims) == 1
        and dims[0].dim_value > LONGEST_CONTENTS
    )


def _may_be_long(value: onnx.ValueInfoProto | None) -> bool:
    """Whether a value may be a vector of integers whose length is unknown so far."""
    if value is None:
        return False
    tensor = value.type.tensor_type
    if tensor.elem_type not in (TensorProto.INT32, TensorProto.INT64):
        return False
    dims = tensor.shape.dim
    return not tensor.HasField("shape") or (len(dims) == 1 and not dims[0].HasField("dim_value"))


def _inferred(model: onnx.ModelProto, *, strict: bool, contents: bool) -> onnx.ModelProto:
    """ONNX's inference; `contents` follows those of integer vectors."""
    try:
        return shape_inference.infer_shapes(
            model, check_type=strict, strict_mode=strict, data_prop=contents
        )
    except (shape_inference.InferenceError, onnx.checker.ValidationError) as error:
        raise ModelError(
            f"the shapes or types of the model contradict each other: {shorten(str(error))}",
        ) from error
    except (ValueError, RuntimeError, LookupError, ArithmeticError) as error:
        raise ModelError(f"shape inference failed: {shorten(str(error))}") from error
