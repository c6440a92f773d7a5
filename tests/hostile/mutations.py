"""Damages a model: bytes of the file, or fields of what it holds."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator
from typing import Any

import onnx
from google.protobuf.message import DecodeError, EncodeError

from tests.hostile.case import Case, of_bytes

#: Numbers on which sizes, indices and counts break.
INTEGERS = (
    *(0, -1, 1, 2, 3, 7, 127, 128, 255, 256, 65535, 65536, 10**6, -2, -7),
    *(2**31 - 1, 2**31, -(2**31), 2**32, 2**53, 2**62, 2**63 - 1, -(2**63)),
)
FLOATS = (0.0, -0.0, -1.0, 1e-45, 1e38, float("inf"), float("-inf"), float("nan"), 0.5)
NAMES = ("", "x", "y", "/", "../../x", "\n", "é", "\x00", "main", "int", "a" * 5000, "%s", "*/")


def mutations(data: bytes, seed: int) -> Iterator[Case]:
    """Damaged forms of an ONNX or TFLite model, without end; the same for the same seed."""
    tflite = data[4:8] == b"TFL3"
    ending = "tflite" if tflite else "onnx"
    number = 0
    while True:
        rng = random.Random(f"{seed} {number}")
        structural = not tflite and rng.random() < 0.7
        damaged = _fields(data, rng) if structural else _bytes(data, rng)
        kind = "fields" if structural else "bytes"
        yield of_bytes(f"{kind}_{seed}_{number}", damaged, ending)
        number += 1


def _bytes(data: bytes, rng: random.Random) -> bytes:
    """A few bytes changed, moved or lost."""
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 4, 12))):
        at = rng.randrange(len(out)) if out else 0
        kind = rng.randrange(6)
        if kind == 0:
            out[at : at + 1] = bytes([rng.choice((0, 1, 127, 128, 255, rng.randrange(256)))])
        elif kind == 1:
            out[at : at + 4] = rng.choice(INTEGERS).to_bytes(9, "little", signed=True)[:4]
        elif kind == 2:
            del out[at : at + rng.randint(1, 16)]
        elif kind == 3:
            start = rng.randrange(len(out)) if out else 0
            out[at:at] = out[start : start + rng.randint(1, 32)]
        elif kind == 4:
            out[at : at + 1] = bytes([out[at] ^ (1 << rng.randrange(8))]) if out else b""
        elif rng.random() < 0.3:
            del out[at:]
    return bytes(out)


def _fields(data: bytes, rng: random.Random) -> bytes:
    """A few fields of the message changed."""
    model = onnx.ModelProto.FromString(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        changes: tuple[Callable[[onnx.ModelProto, random.Random], None], ...]
        changes = (_scalar, _scalar, _scalar, _edge, _edge, _element, _tensor, _attribute, _opset)
        rng.choice(changes)(model, rng)
    try:
        return bytes(model.SerializeToString(deterministic=True))
    except (EncodeError, DecodeError, ValueError):
        return data[: rng.randrange(len(data))]


def _messages(message: Any) -> Iterator[Any]:
    """A message and all inside it."""
    yield message
    for field, value in message.ListFields():
        if field.type != field.TYPE_MESSAGE:
            continue
        for inner in value if _repeated(field) else [value]:
            yield from _messages(inner)


def _repeated(field: Any) -> bool:
    return bool(field.is_repeated)


def _scalar(model: onnx.ModelProto, rng: random.Random) -> None:
    """Any number or text anywhere is another one."""
    places = [
        (message, field)
        for message in _messages(model)
        for field, _ in message.ListFields()
        if field.type != field.TYPE_MESSAGE
    ]
    message, field = rng.choice(places)
    value: Any = _other(field, rng)
    try:
        if _repeated(field):
            items = getattr(message, field.name)
            items[rng.randrange(len(items))] = value
        else:
            setattr(message, field.name, value)
    except (ValueError, TypeError, OverflowError):
        message.ClearField(field.name)


def _other(field: Any, rng: random.Random) -> Any:
    if field.type in (field.TYPE_FLOAT, field.TYPE_DOUBLE):
        return rng.choice(FLOATS)
    if field.type == field.TYPE_STRING:
        return rng.choice(NAMES)
    if field.type == field.TYPE_BYTES:
        return rng.choice((b"", b"x", bytes(3), b"\xff" * 64, bytes(1000)))
    if field.type == field.TYPE_ENUM:
        return rng.randrange(30)
    return rng.choice(INTEGERS)


def _edge(model: onnx.ModelProto, rng: random.Random) -> None:
    """A node reads or writes another value."""
    if not model.graph.node:
        return
    node = rng.choice(model.graph.node)
    names = [name for other in model.graph.node for name in (*other.input, *other.output)]
    names += ["", "nowhere", *(value.name for value in model.graph.input)]
    side = rng.choice((node.input, node.input, node.output))
    kind = rng.randrange(3)
    if side and kind == 0:
        side[rng.randrange(len(side))] = rng.choice(names)
    elif side and kind == 1:
        del side[rng.randrange(len(side))]
    else:
        side.append(rng.choice(names))


def _element(model: onnx.ModelProto, rng: random.Random) -> None:
    """A node, a tensor or a port is lost, doubled or moved."""
    graph = model.graph
    lists = [graph.node, graph.initializer, graph.input, graph.output, model.opset_import]
    items = rng.choice([li for li in lists if len(li)] or [model.metadata_props])
    if not items:
        return
    at = rng.randrange(len(items))
    kind = rng.randrange(3)
    if kind == 0:
        del items[at]
    elif kind == 1:
        items.append(items[at])
    else:
        items.append(items[at])
        del items[at]


def _tensor(model: onnx.ModelProto, rng: random.Random) -> None:
    """Size, type or bytes of a stored tensor."""
    if not model.graph.initializer:
        return
    tensor = rng.choice(model.graph.initializer)
    kind = rng.randrange(5)
    if kind == 0 and tensor.dims:
        tensor.dims[rng.randrange(len(tensor.dims))] = rng.choice(INTEGERS)
    elif kind == 1:
        tensor.data_type = rng.randrange(25)
    elif kind == 2:
        tensor.raw_data = tensor.raw_data[: rng.randrange(len(tensor.raw_data) + 1)]
    elif kind == 3:
        size = max(len(tensor.raw_data), 1)
        tensor.raw_data = bytes(rng.choice((0, 255, 127, 128)) for _ in range(size))
    else:
        tensor.dims.append(rng.choice(INTEGERS))


def _attribute(model: onnx.ModelProto, rng: random.Random) -> None:
    """An attribute is lost, of another type, or longer."""
    nodes = [node for node in model.graph.node if node.attribute]
    if not nodes:
        return
    node = rng.choice(nodes)
    at = rng.randrange(len(node.attribute))
    kind = rng.randrange(4)
    if kind == 0:
        del node.attribute[at]
    elif kind == 1:
        node.attribute[at].type = rng.randrange(1, 15)
    elif kind == 2:
        node.attribute[at].ints.extend(rng.choice(INTEGERS) for _ in range(rng.randint(1, 4)))
    else:
        node.op_type = rng.choice(model.graph.node).op_type


def _opset(model: onnx.ModelProto, rng: random.Random) -> None:
    """Another version of the operators, or an operator of another kind."""
    if model.opset_import and rng.random() < 0.5:
        model.opset_import[0].version = rng.choice((1, 6, 7, 9, 11, 13, 18, 21, 23))
    elif model.graph.node:
        kinds = "Relu Add Conv MatMul Reshape Gather Tile Expand Resize Pad TopK Loop LSTM Einsum"
        rng.choice(model.graph.node).op_type = rng.choice(kinds.split())
