"""`match_aie.json` read back into types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from match_aie.codegen.manifest import FILE, Found
from match_aie.codegen.port import PortRecord
from match_aie.codegen.state import StateRecord, States
from match_aie.errors import ProjectError
from match_aie.hardware import Loop, Packing, TileProgram, tiles_from_json
from match_aie.hardware import Mapping as LoopMapping
from match_aie.lowering import Tensor
from match_aie.version import SCHEMA_VERSION
from match_aie.workload import Workload
from match_aie.workload.codec import from_json
from match_aie.workload.extent import Elements, Size, Tree
from match_aie.workload.extent import from_json as extents_from_json


@dataclass(frozen=True)
class StepRecord:
    """A call: its label, the tensors it reads and writes in order, its layer's symbol if any."""

    label: str
    symbol: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    layer: str | None


Members = tuple[tuple[str, Found], ...]


@dataclass(frozen=True)
class OriginalRecord:
    """What a layer stands for in the model's arithmetic, and the proven bound of the difference."""

    workload: Workload
    constants: Members
    error_lsb: float | None


@dataclass(frozen=True)
class LayerRecord:
    """A layer: who runs it and how, what it computes, predicted cycles, constants, tiles.

    `layouts` say how inputs and output lie that are not row-major, by operand name. `sized` is the
    workload as JSON with extents in it, where a run gives sizes.
    """

    name: str
    symbol: str
    module: str
    pattern: str
    workload: Workload
    cycles: float
    constants: Members
    original: OriginalRecord | None = None
    tiles: TileProgram | None = None
    mapping: LoopMapping = LoopMapping((), ())
    layouts: Mapping[str, Packing] = field(default_factory=dict)
    sized: Tree = None


@dataclass(frozen=True, eq=False)
class Record:
    """A project's manifest.

    Attributes:
        network: prefix of all symbols.
        inputs: in the model's order.
        outputs: in the model's order.
        tensors: all of them; traces name them by index.
        places: in whose storage each tensor lies, and from which of its bytes on.
        steps: in execution order.
        layers: by symbol.
        arena: bytes.
        alignment: of arena, inputs and outputs, in bytes.
        states: outputs that are inputs of the next call.
        flags: compiler flags of the target.
        cxx_flags: the same for C++ sources.
        compilers: to try where the default compiler does not take these flags.
        sources: paths of what makes the library.
        main: path of the sanitizer build's `main`.
        files: paths of everything that was written.
        digests: SHA-256 of these files as they were written, the manifest left out.
        unread: those that a build for this machine does not read.
        seal: SHA-256 of the manifest as it was written.
        sizes: what a run gives; shapes are the largest, or those of one run (`sizes.at`).
        values: sizes of that run; () where shapes are the largest.
        largest: where they are of one run, the record with the largest.
        model: path of the model's own file, None where it is not kept.
        everything: the whole document, for reports.
    """

    network: str
    inputs: tuple[PortRecord, ...]
    outputs: tuple[PortRecord, ...]
    tensors: tuple[Tensor, ...]
    places: Mapping[str, tuple[str, int]]
    steps: tuple[StepRecord, ...]
    layers: Mapping[str, LayerRecord]
    arena: int
    alignment: int
    states: States
    flags: tuple[str, ...]
    cxx_flags: tuple[str, ...]
    compilers: tuple[str, ...]
    sources: tuple[str, ...]
    main: str
    files: tuple[str, ...]
    digests: Mapping[str, str]
    unread: frozenset[str]
    seal: str
    model: str | None
    everything: Mapping[str, Any]
    sizes: tuple[Size, ...] = ()
    values: tuple[int, ...] = ()
    largest: Record | None = None


def parse(document: object, folder: Path) -> Record:
    """The record in a JSON document.

    Raises:
        ProjectError: it is of another schema version, or not what match_aie writes.
    """
    if not isinstance(document, dict) or "schema_version" not in document:
        raise ProjectError(f"{FILE} was not written by match_aie", where=str(folder))
    version = document["schema_version"]
    if version != SCHEMA_VERSION:
        raise ProjectError(
            f"{FILE} has schema version {version!r}, this match_aie reads {SCHEMA_VERSION}",
            where=str(folder),
            hint="compile the model again, or use the match_aie that wrote the project",
        )
    try:
        return _record(document)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise ProjectError(
            f"{FILE} is damaged: {type(error).__name__}: {error}",
            where=str(folder),
            hint="compile the model again",
        ) from error


def _record(document: dict[str, Any]) -> Record:
    tensors = tuple(_tensor(item) for item in document["tensors"])
    base = {a["view"]: (a["base"], int(a.get("offset", 0))) for a in document["aliases"]}
    build, model = document["build"], document["model"]
    return Record(
        network=str(document["network"]),
        inputs=tuple(_port(item) for item in document["inputs"]),
        outputs=tuple(_port(item) for item in document["outputs"]),
        tensors=tensors,
        places={tensor.name: _place(tensor.name, base) for tensor in tensors},
        steps=tuple(_step(item) for item in document["steps"]),
        layers={item["symbol"]: _layer(item) for item in document["layers"]},
        arena=int(document["memory"]["nbytes"]),
        alignment=int(document["memory"]["alignment"]),
        states=_states(document.get("states")),
        flags=tuple(map(str, build["flags"])),
        cxx_flags=tuple(map(str, build.get("cxx_flags", ()))),
        compilers=tuple(map(str, build.get("compilers", ()))),
        sources=tuple(map(str, build["sources"])),
        main=str(build["main"]),
        files=tuple(map(str, document["files"])),
        digests={str(name): str(digest) for name, digest in document["digests"].items()},
        unread=frozenset(map(str, build["unread"])),
        seal=str(document["seal"]),
        model=None if model is None else model["file"],
        everything=document,
        sizes=tuple(_size(item) for item in document.get("sizes", ())),
    )


def _place(name: str, base: Mapping[str, tuple[str, int]]) -> tuple[str, int]:
    offset = 0
    for _ in range(len(base) + 1):
        if name not in base:
            return name, offset
        name, more = base[name]
        offset += more
    raise ValueError(f"views form a circle through {name}")


def _common(item: Mapping[str, Any]) -> tuple[str, tuple[int, ...], float | None, int]:
    scale = None if item["scale"] is None else float(item["scale"])
    shape = tuple(int(extent) for extent in item["shape"])
    return str(item["dtype"]), shape, scale, int(item["zero_point"])


def _size(item: Mapping[str, Any]) -> Size:
    return Size(str(item["name"]), int(item["low"]), int(item["high"]))


def _extents(item: Mapping[str, Any]) -> tuple[Elements, ...]:
    return tuple(extents_from_json(item.get("extents", [])))


def _tensor(item: Mapping[str, Any]) -> Tensor:
    dtype, shape, scale, zero_point = _common(item)
    more = (item["label"], scale, zero_point, _extents(item))
    return Tensor(item["name"], dtype, shape, *more)


def _port(item: Mapping[str, Any]) -> PortRecord:
    return PortRecord(item["tensor"], item["name"], *_common(item), _extents(item))


def _states(item: Mapping[str, Any] | None) -> States:
    if item is None:  # written before there were any
        return States()
    found = [
        StateRecord(
            input=int(each["input"]),
            output=int(each["output"]),
            offset=int(each["offset"]),
            nbytes=int(each["nbytes"]),
            initial=str(each["initial"]),
        )
        for each in item["records"]
    ]
    return States(tuple(found), int(item["nbytes"]))


def _step(item: Mapping[str, Any]) -> StepRecord:
    arguments = [a for a in item["arguments"] if a["kind"] == "tensor"]
    return StepRecord(
        item["label"],
        item["symbol"],
        tuple(a["name"] for a in arguments if a["access"] == "read"),
        tuple(a["name"] for a in arguments if a["access"] == "write"),
        item["layer"],
    )


def _layer(item: Mapping[str, Any]) -> LayerRecord:
    original = item.get("original")
    return LayerRecord(
        item["name"],
        item["symbol"],
        item["module"],
        item["pattern"],
        from_json(item["workload"]),
        float(item["cost"]["cycles"]),
        _members(item["constants"]),
        None if original is None else _original(original),
        tiles_from_json(item.get("tiles")),
        _mapping(item["mapping"]),
        {str(name): _packing(each) for name, each in item.get("layouts", {}).items()},
        extents_from_json(item.get("sized")),
    )


def _packing(item: Mapping[str, Any]) -> Packing:
    places = tuple((int(at), bool(counted)) for at, counted in item["places"])
    return Packing(places, tuple((int(at), int(size)) for at, size in item["blocks"]), None)


def _mapping(item: Mapping[str, Any]) -> LoopMapping:
    """The loops; cuts are in the tile program."""

    def loops(key: str) -> tuple[Loop, ...]:
        return tuple(Loop(str(i["dim"]), int(i["size"]), int(i["step"])) for i in item[key])

    return LoopMapping(loops("spatial"), loops("temporal"), int(item["kernel"]))


def _original(item: Mapping[str, Any]) -> OriginalRecord:
    error = item["error_lsb"]
    known = None if error is None else float(error)
    return OriginalRecord(from_json(item["workload"]), _members(item["constants"]), known)


def _members(items: Mapping[str, Any]) -> Members:
    return tuple(
        (name, Found(at["file"], int(at["offset"]), at["dtype"], tuple(map(int, at["shape"]))))
        for name, at in items.items()
    )


def element_dtype(name: str) -> np.dtype[Any]:
    """The numpy type called `name`, bfloat16 included."""
    if name == "bfloat16":
        import ml_dtypes

        bfloat16: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16)
        return bfloat16
    return np.dtype(name)
