"""Bombs that are files: what lies beside a model, and what is none."""

from __future__ import annotations

import os
import random
from collections.abc import Callable, Iterator
from pathlib import Path

import onnx

from tests.hostile.building import FLOAT, model, node
from tests.hostile.case import Case, of_bytes
from tests.hostile.samples import samples


def external(_rng: random.Random) -> Iterator[Case]:
    """Data in other files."""
    entries: dict[str, dict[str, str]] = {
        "length_8g": {"location": "big", "length": str(8 << 30)},
        "no_length": {"location": "big"},
        "offset": {"location": "big", "offset": str(7 << 30), "length": "16"},
        "offset_beyond": {"location": "big", "offset": str(1 << 62), "length": "16"},
        "offset_minus": {"location": "big", "offset": "-1"},
        "offset_text": {"location": "big", "offset": "one"},
        "length_text": {"location": "small", "length": "9" * 5000},
        "length_minus": {"location": "small", "length": "-16"},
        "too_short": {"location": "small", "length": "15"},
        "too_long": {"location": "small", "length": "17"},
        "zero": {"location": "/dev/zero", "length": "16"},
        "zero_endless": {"location": "/dev/zero"},
        "linked_zero": {"location": "zero"},
        "fifo": {"location": "fifo"},
        "folder": {"location": "."},
        "above": {"location": "../said"},
        "absolute": {"location": "/etc/passwd"},
        "linked": {"location": "passwd"},
        "missing": {"location": "nowhere"},
        "none": {},
        "nul": {"location": "a\x00b"},
        "long": {"location": "a/" * 100_000},
        "itself": {"location": "model.onnx"},
    }
    for label, entry in entries.items():
        yield Case(f"external_{label}", _external(entry, [4]))
    yield Case("external_8g_wanted", _external({"location": "big"}, [1 << 31]))
    yield Case("external_many", _many)


def _external(entry: dict[str, str], dims: list[int]) -> Callable[[Path], Path]:
    def build(folder: Path) -> Path:
        with (folder / "big").open("wb") as file:
            file.truncate(8 << 30)
        (folder / "small").write_bytes(bytes(16))
        os.mkfifo(folder / "fifo")
        (folder / "zero").symlink_to("/dev/zero")
        (folder / "passwd").symlink_to("/etc/passwd")
        return _write(folder, [_tensor("w", entry, dims)])

    return build


def _tensor(name: str, entry: dict[str, str], dims: list[int]) -> onnx.TensorProto:
    tensor = onnx.TensorProto(name=name, dims=dims, data_type=FLOAT)
    tensor.data_location = onnx.TensorProto.EXTERNAL
    for key, text in entry.items():
        tensor.external_data.add(key=key, value=text)
    return tensor


def _write(folder: Path, tensors: list[onnx.TensorProto]) -> Path:
    names = [tensor.name for tensor in tensors]
    made = model([node("Sum", ["x", *names], ["y"])], {t.name: t for t in tensors})
    path = folder / "model.onnx"
    path.write_bytes(made.SerializeToString())
    return path


def _many(folder: Path) -> Path:
    """A hundred tensors of 100 MB, all in the same sparse file."""
    with (folder / "big").open("wb") as file:
        file.truncate(100 << 20)
    entry = {"location": "big"}
    return _write(folder, [_tensor(f"w{i}", entry, [25 << 20]) for i in range(100)])


def broken(rng: random.Random) -> Iterator[Case]:
    """Files that are no models, or not whole ones."""
    for name, data in samples().items():
        stem, ending = name.split(".")
        for share in (0.1, 0.5, 0.9):
            yield of_bytes(
                f"truncated_{stem}_{ending}_{share}", data[: int(len(data) * share)], ending
            )
    yield of_bytes("empty", b"")
    yield of_bytes("zeros", bytes(1 << 20))
    yield of_bytes("random", rng.randbytes(1 << 16))
    yield of_bytes("text", b"this is no model\n" * 100)
    yield of_bytes("compressed", b"\x1f\x8b\x08" + rng.randbytes(1000))
    yield of_bytes("groups", b"\x0b" * 10**6)
    yield of_bytes("nested", _nested(5000))
    yield of_bytes("length_of_varint", b"\x3a" + b"\xff" * 9 + b"\x7f")
    yield of_bytes("relay_deep", b'#[version = "0.0.5"]\n' + b"(" * 10**5, "relay")
    yield of_bytes("relay_minus", b'#[version = "0.0.5"]\nfn () {' + b"-" * 10**5 + b"1}", "relay")
    tensor = b"Tensor[(4611686018427387904, 4), float32]"
    relu = b'#[version = "0.0.5"]\nfn (%x: ' + tensor + b") { nn.relu(%x) }"
    yield of_bytes("relay_2_62", relu, "relay")
    big = b"fn (%x: Tensor[(4), float32]) { add(%x, sum(ones(shape=[100000000]))) }"
    yield of_bytes("relay_ones", b'#[version = "0.0.5"]\n' + big, "relay")
    lets = b"".join(b"%%%d = add(%%%d, %%%d);\n" % (i + 1, i, i) for i in range(5000))
    chain = b"fn (%x: Tensor[(4), float32]) {\n%0 = nn.relu(%x);\n" + lets + b"%5000\n}"
    yield of_bytes("relay_chain", b'#[version = "0.0.5"]\n' + chain, "relay")
    yield of_bytes("json_deep", b'{"a":' * 10**5, "json")
    yield of_bytes("json_list", b'{"nodes":' + b"[" * 10**6, "json")
    yield of_bytes("json_nothing", b'{"root": 1, "nodes": [], "b64ndarrays": []}', "json")
    yield Case("is_folder", lambda folder: folder)
    yield Case("is_fifo", _fifo)
    yield Case("is_zero", lambda folder: Path("/dev/zero"))
    yield Case("links_to_zero", _linked)
    yield Case("sparse_8g", _sparse)
    yield Case("sparse_8g_tflite", lambda folder: _sparse(folder, b"\x1c\0\0\0TFL3"))
    yield Case("missing", lambda folder: folder / "nowhere.onnx")


def _nested(depth: int) -> bytes:
    """A graph in an attribute of a node of a graph, and so on."""
    inner = b""
    for _ in range(depth):
        for key in (b"\x32", b"\x2a", b"\x0a"):
            inner = key + _varint(len(inner)) + inner
    return b"\x08\x08\x3a" + _varint(len(inner)) + inner + b"\x42\x02\x10\x11"


def _varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def _fifo(folder: Path) -> Path:
    os.mkfifo(folder / "model.onnx")
    return folder / "model.onnx"


def _linked(folder: Path) -> Path:
    (folder / "model.onnx").symlink_to("/dev/zero")
    return folder / "model.onnx"


def _sparse(folder: Path, start: bytes = b"\x08\x08") -> Path:
    path = folder / "model.onnx"
    with path.open("wb") as file:
        file.write(start)
        file.truncate(8 << 30)
    return path
