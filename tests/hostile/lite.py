"""Bombs in TFLite files."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from tests.hostile.case import Case, of_bytes
from tests.hostile.flatbuffer import Op, Tensor, flatbuffer
from tests.hostile.samples import samples


def lite(rng: random.Random) -> Iterator[Case]:
    """Flatbuffers whose offsets lie, and sound ones of unsound models."""
    yield from _offsets(rng)
    yield from _shapes()
    yield from _graphs()
    yield from _quantised()


def _offsets(rng: random.Random) -> Iterator[Case]:
    """Every few words of a sound file overwritten by a huge or negative number."""
    data = samples()["net.tflite"]
    words = rng.sample(range(0, len(data) - 4, 4), 40)
    for at in words:
        value = rng.choice((b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\0\0\0\x80", b"\0\0\0\0"))
        yield of_bytes(f"lite_word_{at}", data[:at] + value + data[at + 4 :], "tflite")


def _model(
    name: str, tensors: Sequence[Tensor], ops: Sequence[Op], ins: Sequence[int], outs: Sequence[int]
) -> Case:
    """A case of one file, made when it is asked for."""

    def build(folder: Path) -> Path:
        path = folder / "model.tflite"
        path.write_bytes(flatbuffer(tensors, ops, ins, outs))
        return path

    return Case(f"lite_{name}", build)


def _shapes() -> Iterator[Case]:
    for shape in ((2**31 - 1,), (2**31 - 1,) * 3, (-1, 4), (0, 4), (), (1,) * 5000, (65536, 65536)):
        label = "x".join(map(str, shape[:4])) or "scalar"
        tensors = [Tensor("x", shape, "float32"), Tensor("y", shape, "float32")]
        yield _model(f"shape_{label}_{len(shape)}", tensors, [Op("RELU", (0,), (1,))], (0,), (1,))
    for count in (10**8, 2**31 - 1):
        times = np.array([count], np.int32).tobytes()
        tensors = [
            Tensor("x", (4,), "float32"),
            Tensor("one", (1,), "float32", bytes(4)),
            Tensor("n", (1,), "int32", times),
            Tensor("t", (count,), "float32"),
            Tensor("y", (4,), "float32"),
        ]
        for op in ("TILE", "BROADCAST_TO"):
            ops = [Op(op, (1, 2), (3,)), Op("ADD", (0, 3), (4,))]
            yield _model(f"{op.lower()}_{count}", tensors, ops, (0,), (4,))
        filled = [Op("FILL", (2, 1), (3,)), Op("ADD", (0, 3), (4,))]
        yield _model(f"fill_{count}", tensors, filled, (0,), (4,))


def _graphs() -> Iterator[Case]:
    four = [Tensor(f"t{i}", (4,), "float32") for i in range(4)]
    yield _model("cycle", four, [Op("ADD", (0, 2), (1,)), Op("ADD", (0, 1), (2,))], (0,), (2,))
    yield _model("own_input", four, [Op("ADD", (0, 1), (1,))], (0,), (1,))
    yield _model("nothing", [], [], (), ())
    yield _model("no_operators", four, [], (0,), (0,))
    yield _model("never_written", four, [Op("ADD", (0, 3), (1,))], (0,), (1,))
    yield _model("index_far", four, [Op("ADD", (0, 2**30), (1,))], (0,), (1,))
    yield _model("index_minus", four, [Op("ADD", (0, -1), (1,))], (0,), (1,))
    yield _model("absent_all", four, [Op("ADD", (-1, -1), (1,))], (0,), (1,))
    yield _model("no_inputs", four, [Op("ADD", (), (1,))], (0,), (1,))
    yield _model("no_outputs", four, [Op("ADD", (0, 0), ())], (0,), (1,))
    yield _model(
        "same_names",
        [Tensor("x", (4,), "float32")] * 3,
        [Op("ADD", (0, 0), (1,)), Op("ADD", (1, 1), (2,))],
        (0,),
        (2,),
    )
    long = [Tensor(f"t{i}", (4,), "float32") for i in range(5001)]
    links = [Op("ADD" if i % 2 else "MUL", (i, i), (i + 1,)) for i in range(5000)]
    yield _model("chain_mixed", long, links, (0,), (5000,))
    relus = [Op("RELU" if i % 2 else "TANH", (i,), (i + 1,)) for i in range(5000)]
    yield _model("chain_unary", long, relus, (0,), (5000,))
    grown = [Tensor(f"t{i}", (1, 2 ** min(i, 30)), "float32") for i in range(61)]
    doubled = [Op("CONCATENATION", (i, i), (i + 1,)) for i in range(60)]
    yield _model("doubling", grown, doubled, (0,), (60,))
    yield _model(
        "name_long",
        [Tensor("n" * (1 << 24), (4,), "float32"), four[1]],
        [Op("RELU", (0,), (1,))],
        (0,),
        (1,),
    )
    for code in (
        "WHILE",
        "IF",
        "CUSTOM",
        "CALL_ONCE",
        "VAR_HANDLE",
        "DELEGATE",
        "LSTM",
        "UNIDIRECTIONAL_SEQUENCE_LSTM",
        "CONV_2D",
        "RESHAPE",
        "STRIDED_SLICE",
        "PACK",
        "GATHER",
        "PAD",
        "SPLIT",
        "RESIZE_BILINEAR",
        "SOFTMAX",
        "MEAN",
        "TRANSPOSE",
        "DEPTHWISE_CONV_2D",
        "FULLY_CONNECTED",
        "AVERAGE_POOL_2D",
        "TRANSPOSE_CONV",
        "TOPK_V2",
        "ONE_HOT",
        "SPACE_TO_BATCH_ND",
        "DETECTION_POSTPROCESS",
        "ARG_MAX",
    ):
        if code != "DETECTION_POSTPROCESS":
            yield _model(f"bare_{code.lower()}", four, [Op(code, (0, 2), (1,))], (0,), (1,))


def _quantised() -> Iterator[Case]:
    for label, scale, zero in (
        ("nan", float("nan"), 0),
        ("inf", float("inf"), 0),
        ("zero", 0.0, 0),
        ("minus", -0.5, 0),
        ("denormal", 1e-45, 0),
        ("zero_far", 0.1, 2**40),
        ("zero_out", 0.1, 300),
    ):
        tensors = [
            Tensor("x", (1, 4), "int8", scale=(0.1,), zero=(0,)),
            Tensor("w", (4, 4), "int8", bytes(range(16)), (scale,), (zero,)),
            Tensor("y", (1, 4), "int8", scale=(0.2,), zero=(1,)),
        ]
        ops = [Op("FULLY_CONNECTED", (0, 1, -1), (2,))]
        yield _model(f"weight_scale_{label}", tensors, ops, (0,), (2,))
        entry = [Tensor("x", (1, 4), "int8", scale=(scale,), zero=(zero,)), *tensors[1:]]
        entry[1] = Tensor("w", (4, 4), "int8", bytes(range(16)), (0.1,), (0,))
        yield _model(f"input_scale_{label}", entry, ops, (0,), (2,))
    scales = [
        Tensor("x", (1, 4), "int8", scale=(0.1, 0.2, 0.3), zero=(0,)),
        Tensor("y", (1, 4), "int8", scale=(0.1,), zero=()),
    ]
    yield _model("three_scales", scales, [Op("RELU", (0,), (1,))], (0,), (1,))
