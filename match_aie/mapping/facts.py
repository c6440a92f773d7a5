"""What a search depends on, as one key: everything that could change its answer.

A key covers the workload (less the scales that are hidden from the search), the module (its class,
sources, state, memories, what it unrolls, and its cost model with all parameters), the options, the
sources of the search itself, and ZigZag's version. A module that holds something that cannot be
described has no key and is not cached.
"""

from __future__ import annotations

import hashlib
import inspect
import json
from collections.abc import Iterable
from collections.abc import Mapping as MappingOf
from collections.abc import Set as SetOf
from dataclasses import fields, is_dataclass
from functools import lru_cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

import numpy as np

from match_aie.hardware import ExecModule, Packed, Priced, Tiled, facet
from match_aie.mapping.hidden import HiddenOperand, bare
from match_aie.mapping.options import SearchOptions
from match_aie.version import version as own_version
from match_aie.workload import Workload
from match_aie.workload.codec import to_json

#: Objects nested deeper than this are not described: they may well be circular.
DEEPEST = 12

#: Rooms of the package whose sources decide what a search answers.
ROOMS = ("mapping", "hardware", "workload", "cost_models")


class Undescribable(Exception):
    """A value whose equality cannot be told from its description."""


def search_keys(
    tasks: Iterable[tuple[Workload, ExecModule]], options: SearchOptions
) -> list[str | None]:
    """The key of each search; layers that are alike, on one module, are described once."""
    known: dict[tuple[str, int], str | None] = {}
    keys = []
    for workload, module in tasks:
        # As text: equal numbers, such as the two zeros, may differ in what they mean.
        asked = (json.dumps(to_json(bare(workload))), id(module))
        if asked not in known:
            known[asked] = search_key(workload, module, options)
        keys.append(known[asked])
    return keys


def search_key(workload: Workload, module: ExecModule, options: SearchOptions) -> str | None:
    """The key of a search, equal in every process; None where the module cannot be described."""
    try:
        facts = {
            "workload": to_json(bare(workload)),
            "module": _module(workload, module),
            "options": _plain(options),
            "code": _own_code(),
        }
    except Undescribable:
        return None
    return hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()


def _module(workload: Workload, module: ExecModule) -> dict[str, object]:
    model = module.cost_model(workload)
    return {
        "class": _class(type(module)),
        "version": facet(module, Priced).version,
        "state": _plain(vars(module)),
        "memories": _plain(module.memories),
        "spatial": _plain(tuple(module.spatial(workload))),
        "layouts": _plain(facet(module, Packed).layouts(workload)),
        "reductions": _plain(facet(module, Tiled).tiled_reductions(workload)),
        "partial_sums": facet(module, Tiled).stores_partial_sums(workload),
        "padded": facet(module, Tiled).padded_tiles,
        "model": _plain(model),
    }


def _class(kind: type) -> list[str]:
    """Name of a class, and a digest of the sources of it and of all it inherits from."""
    return [f"{kind.__module__}.{kind.__qualname__}", _class_digest(kind)]


@lru_cache(maxsize=256)
def _class_digest(kind: type) -> str:
    digest = hashlib.sha256()
    for ancestor in kind.__mro__:
        if ancestor.__module__ in ("builtins", "abc", "typing"):
            continue
        try:
            digest.update(Path(inspect.getfile(ancestor)).read_bytes())
        except (OSError, TypeError) as error:
            raise Undescribable(f"{ancestor} has no source file") from error
    return digest.hexdigest()


@lru_cache(maxsize=1)
def _own_code() -> list[str]:
    """Versions, and a digest of the search's own sources."""
    digest = hashlib.sha256()
    package = Path(__file__).resolve().parents[1]
    for room in ROOMS:
        for path in sorted((package / room).glob("*.py")):
            digest.update(path.name.encode() + b"\0" + path.read_bytes())
    try:
        zigzag = version("zigzag-dse")
    except PackageNotFoundError:
        zigzag = ""
    return [own_version(), zigzag, digest.hexdigest()]


def _plain(value: object, depth: int = 0) -> object:
    """`value` as JSON from which equal values, and only those, give the same text."""
    if depth > DEEPEST:
        raise Undescribable("nested too deeply")
    if value is None or isinstance(value, bool | int | str):
        return value
    if isinstance(value, float):
        return {"float": value.hex()}
    if isinstance(value, np.ndarray | np.generic):
        array = np.asarray(value)
        if array.dtype.hasobject:
            raise Undescribable("an array of objects")
        digest = hashlib.sha256(np.ascontiguousarray(array).tobytes()).hexdigest()
        return {"array": [array.dtype.str, list(array.shape), digest]}
    if isinstance(value, type):
        return {"class": _class(value)}
    if isinstance(value, HiddenOperand):
        value = value.bare()
    return _compound(value, depth + 1)


def _compound(value: object, depth: int) -> object:
    if isinstance(value, list | tuple):
        return [_plain(item, depth) for item in value]
    if isinstance(value, SetOf):
        return {"set": sorted(json.dumps(_plain(item, depth), sort_keys=True) for item in value)}
    if isinstance(value, MappingOf):
        return {"map": [[_plain(k, depth), _plain(v, depth)] for k, v in value.items()]}
    if callable(value) and not hasattr(value, "__dict__"):
        raise Undescribable(f"{value!r}")
    if is_dataclass(value):
        state = {f.name: _plain(getattr(value, f.name), depth) for f in fields(value)}
    elif inspect.isroutine(value) or not hasattr(value, "__dict__") or hasattr(value, "__slots__"):
        raise Undescribable(f"{type(value).__name__} does not show what it holds")
    else:
        state = {name: _plain(item, depth) for name, item in vars(value).items()}
    return {"object": _class(type(value)), "state": state}
