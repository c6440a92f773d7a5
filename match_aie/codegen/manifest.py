"""`match_aie.json`: all that is known of a compiled network, so that its folder stands alone.

Layers name their constants by file and offset, in the layout that `workload.reference` reads.
Where the emitted code reads packed constants instead, the others lie in a second blob.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass
from json.encoder import encode_basestring_ascii
from math import isfinite
from pathlib import PurePath

import numpy as np

from match_aie.codegen.port import PortRecord
from match_aie.codegen.state import States
from match_aie.codegen.weights import Blob, little_endian
from match_aie.errors import InternalError
from match_aie.hardware import tiles_to_json
from match_aie.lowering import LayerProgram, NetworkProgram, Schedule, Step, Tensor
from match_aie.version import SCHEMA_VERSION
from match_aie.workload import drawn_loss, rounds_sums
from match_aie.workload.codec import to_json
from match_aie.workload.extent import to_json as extent_json

#: Name of the file that makes a folder a project.
FILE = "match_aie.json"

#: Name of the file with what the fallback's functions mean, which only a check of them reads.
MEANINGS = "fallback.json"

#: Constants are found 64 bytes apart in the reference blob, whatever the target.
REFERENCE_ALIGNMENT = 64


@dataclass(frozen=True)
class Found:
    """Where the bytes of a layer's constant lie."""

    file: str
    offset: int
    dtype: str
    shape: tuple[int, ...]


@dataclass(frozen=True)
class References:
    """Constants of all layers as the reference reads them, and the bytes of the second blob.

    `found` by layer symbol and operand name; `originals` the same of layers in the model's
    arithmetic that modules compute in their own.
    """

    found: Mapping[tuple[str, str], Found]
    originals: Mapping[tuple[str, str], Found]
    data: bytes


def locate(program: NetworkProgram, blob: Blob, main: str, second: str) -> References:
    """Find every constant of every layer, and of what it stands for.

    Args:
        program: whose layers.
        blob: what the emitted code reads.
        main: path of `blob`.
        second: path of the blob for what is not in `blob` byte by byte.
    """
    known = {
        _digest(blob.data[m.offset : m.offset + m.nbytes]): (main, m.offset)
        for m in reversed(blob.members)
    }
    extra = bytearray()

    def place(value: np.ndarray) -> Found:
        data = little_endian(value)
        key = _digest(data)
        if key not in known:
            known[key] = (second, len(extra))
            extra.extend(data + bytes(-len(data) % REFERENCE_ALIGNMENT))
        return Found(*known[key], value.dtype.name, tuple(value.shape))

    layers = program.schedule.layers
    found = {(la.symbol, name): place(value) for la in layers for name, value in la.constants}
    originals = {
        (layer.symbol, operand.name): place(layer.original.constants[operand.name])
        for layer in layers
        if layer.original is not None
        for operand in layer.original.workload.constants
    }
    return References(found, originals, bytes(extra))


def _digest(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def plain(value: object) -> object:
    """`value` in the types of JSON: dataclasses become objects, tuples lists, arrays nested lists.

    Raises:
        InternalError: it holds something that has no such form.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic | np.ndarray):
        return plain(value.tolist())
    if isinstance(value, PurePath):
        raise InternalError("a path is no part of a project: it may name another machine's folders")
    if is_dataclass(value) and not isinstance(value, type):
        return {f.name: plain(getattr(value, f.name)) for f in fields(value)}
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, frozenset | set):
        return [plain(item) for item in sorted(value)]
    if isinstance(value, Iterable):
        return [plain(item) for item in value]
    raise InternalError(f"a {type(value).__name__} cannot be written to match_aie.json")


def _growing(value: Tensor | PortRecord) -> dict[str, object]:
    """A tensor or port; `extents` only where it depends on sizes."""
    found = {f.name: plain(getattr(value, f.name)) for f in fields(value) if f.name != "extents"}
    return {**found, **({"extents": extent_json(value.extents)} if value.extents else {})}


def _layer(step: Step, layer: LayerProgram, references: References) -> dict[str, object]:
    constants = {name: plain(references.found[layer.symbol, name]) for name, _ in layer.constants}
    return {
        "name": step.label,
        "symbol": layer.symbol,
        "module": layer.module,
        "pattern": layer.pattern,
        "template": layer.template,
        "workload": to_json(layer.workload),
        "mapping": plain(layer.mapping),
        "tiles": tiles_to_json(layer.tiles),
        "layouts": {name: plain(packing) for name, packing in layer.layouts},
        "cost": {**asdict(layer.cost), "provenance": "modelled"},
        "constants": constants,
        "original": _original(layer, references),
        **_rounded_sums(layer),
        **({"sized": extent_json(layer.sized)} if layer.sized is not None else {}),
    }


def _rounded_sums(layer: LayerProgram) -> dict[str, object]:
    """What a layer loses whose partial sums are rounded while they wait: on numbers drawn once."""
    if not rounds_sums(layer.workload):
        return {}
    lost = drawn_loss(layer.workload, dict(layer.constants))
    return {"rounded_sums": {**asdict(lost), "provenance": "measured", "on": "drawn numbers"}}


def _original(layer: LayerProgram, references: References) -> dict[str, object] | None:
    """The layer in the model's arithmetic, and the proven bound of the difference from it."""
    if layer.original is None:
        return None
    names = [operand.name for operand in layer.original.workload.constants]
    return {
        "workload": to_json(layer.original.workload),
        "constants": {name: plain(references.originals[layer.symbol, name]) for name in names},
        "error_lsb": layer.original.error_lsb,
        "provenance": "proven",
    }


def _step(step: Step) -> dict[str, object]:
    return {
        "label": step.label,
        "symbol": step.symbol,
        "arguments": plain(step.arguments),
        "layer": step.layer.symbol if step.layer else None,
        "in_place": plain(step.in_place),
        "workspaces": plain(step.workspaces),
        "cycles": step.cycles,
        **({"extents": extent_json(step.extents)} if step.extents else {}),
    }


def _layers(program: NetworkProgram, references: References) -> list[dict[str, object]]:
    once: dict[str, dict[str, object]] = {}
    for step in program.schedule.steps:
        if step.layer is not None and step.layer.symbol not in once:
            once[step.layer.symbol] = _layer(step, step.layer, references)
    return list(once.values())


def describe(
    program: NetworkProgram,
    blob: Blob,
    references: References,
    ports: tuple[Sequence[PortRecord], Sequence[PortRecord]],
    states: States,
) -> dict[str, object]:
    """What `match_aie.json` says of `program` itself.

    Args:
        program: of the network.
        blob: its constants in one file.
        references: to what layers are compared with.
        ports: of the inputs, and of the outputs.
        states: kept from call to call.
    """
    schedule = program.schedule
    constants = [
        {"name": m.name, "dtype": m.dtype, "shape": m.shape, "offset": m.offset, "nbytes": m.nbytes}
        for m in blob.members
    ]
    cycles = sum(layer.cost.cycles for layer in schedule.layers)
    return {
        "schema_version": SCHEMA_VERSION,
        "network": schedule.name,
        **({"sizes": plain(schedule.sizes)} if schedule.sizes else {}),
        "inputs": [_growing(port) for port in ports[0]],
        "outputs": [_growing(port) for port in ports[1]],
        "states": plain(states),
        "tensors": [_growing(tensor) for tensor in schedule.tensors],
        "aliases": plain(schedule.aliases),
        "joins": plain(schedule.joins),
        "constants": plain(constants),
        "steps": [_step(step) for step in schedule.steps],
        "layers": _layers(program, references),
        "fallback": [
            {"symbol": function.symbol, "operators": function.operators}
            for function in schedule.functions
        ],
        "memory": plain(program.plan),
        "streams": plain(program.streams),
        "beside": plain(schedule.beside),
        "predicted": {"cycles": cycles, "provenance": "modelled", "of": "layers"},
    }


def meanings(schedule: Schedule) -> bytes:
    """What the fallback's functions were made of, as a file; empty where there is none of them."""
    found = {
        function.symbol: {"written": function.written, "meanings": function.meanings}
        for function in schedule.functions
        if function.meanings
    }
    return dump(found) if found else b""


def dump(manifest: Mapping[str, object]) -> bytes:
    """The manifest as text: keys sorted, ASCII only, the same bytes for the same content."""
    return joined(texts(manifest))


def texts(manifest: Mapping[str, object]) -> dict[str, str]:
    """The text of each of its values, as it stands in the manifest's.

    Raises:
        InternalError: a value has no such form.
    """
    return {str(key): _text(value) for key, value in manifest.items()}


def joined(values: Mapping[str, str]) -> bytes:
    """The manifest whose values have these texts."""
    parts = [f"{_scalar(key)}: {text}" for key, text in sorted(values.items())]
    return (_bracketed("{", parts, "}", "\n") + "\n").encode()


def _text(value: object, line: str = "\n ") -> str:
    """`value` as `json.dumps` indents it by one, several times as fast; `line` begins a line."""
    if value is None or isinstance(value, bool | int | float | str):
        return _scalar(value)
    within = line + " "
    if isinstance(value, Mapping):
        named = {str(key): item for key, item in value.items()}
        parts = [f"{_scalar(key)}: {_text(named[key], within)}" for key in sorted(named)]
        return _bracketed("{", parts, "}", line)
    if isinstance(value, list | tuple):
        return _bracketed("[", [_text(item, within) for item in value], "]", line)
    return _text(plain(value), line)


def _bracketed(left: str, parts: Sequence[str], right: str, line: str) -> str:
    return f"{left}{line} {f',{line} '.join(parts)}{line}{right}" if parts else left + right


def _scalar(value: float | str | None) -> str:
    if isinstance(value, str):
        return encode_basestring_ascii(value)
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    if isinstance(value, int):
        return int.__repr__(value)
    if not isfinite(value):
        raise InternalError(f"match_aie.json cannot hold this: {value}")
    return float.__repr__(value)
