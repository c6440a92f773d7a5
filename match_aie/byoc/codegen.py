"""The code generator "match_aie" of Relax: functions in, linkable modules out."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from tvm import relax

from match_aie import tvm_api
from match_aie.byoc.flatten import flat, target_of
from match_aie.codegen import render_template
from match_aie.errors import InfeasibleError, MatchError, OptionError, shorten
from match_aie.options import CompileOptions
from match_aie.pipeline import run
from match_aie.priced import Resources
from match_aie.toolchain.relocatable import Relocatable, relocatable

#: DLPack's type codes by numpy kind.
_CODES = {"i": 0, "u": 1, "f": 2, "b": 6}


@dataclass(frozen=True)
class EntryPort:
    """A tensor of a packed function: DLPack's type, the shape, and its bytes."""

    code: int
    bits: int
    shape: tuple[int, ...]
    nbytes: int


@dataclass(frozen=True)
class Entry:
    """A packed function around a compiled network.

    Attributes:
        symbol: under which TVM finds it, and prefix of the network's C functions.
        remark: what it computes.
        inputs: in call order.
        outputs: after the inputs.
        arena: bytes.
        alignment: of arena and tensors.
        guarded: whether `SYMBOL_unsupported` is there.
        faults: whether `SYMBOL_fault` is there.
    """

    symbol: str
    remark: str
    inputs: tuple[EntryPort, ...]
    outputs: tuple[EntryPort, ...]
    arena: int
    alignment: int
    guarded: bool
    faults: bool


@dataclass(frozen=True)
class Entries:
    """All packed functions of one source, and the largest number of axes among their tensors."""

    entries: tuple[Entry, ...]
    rank: int


def generate(functions: Sequence[Any], options: Any, names: Any) -> list[Any]:
    """What Relax calls as `relax.ext.match_aie`.

    Args:
        functions: Relax functions with `Codegen="match_aie"` and a `global_symbol`.
        options: of `RunCodegen`'s "match_aie": "cache" as `match_aie.compile` takes it.
        names: of constants; unused, since constants are packed into the objects.

    Returns:
        One module of C source with all packed functions, and an object for each.

    Raises:
        MatchError: a function cannot be compiled, or the compiler refuses.
        OptionError: an option that is not there.
    """
    del names
    given = {str(name): value for name, value in dict(options or {}).items()}
    cache = given.pop("cache", True)
    if given:
        raise OptionError(
            f"RunCodegen has no option {shorten(next(iter(given)), 80)!r} for match_aie",
            hint='{"match_aie": {"cache": False}} is the only one',
        )
    entries, modules = [], []
    for function in functions:
        symbol = str(function.attrs["global_symbol"])
        made = _compiled(function, symbol, cache)
        entries.append(_entry(function, symbol, made))
        modules.append(_static(made.data))
    rank = max(len(p.shape) for entry in entries for p in (*entry.inputs, *entry.outputs))
    text = render_template("byoc/entries.c.mako", entries=Entries(tuple(entries), rank))
    return [tvm_api.c_module(text, [entry.symbol for entry in entries]), *modules]


def _compiled(function: Any, symbol: str, cache: Any) -> Relocatable:
    """The function's network, compiled for the target that it names."""
    resources = Resources(cache=cache if isinstance(cache, str) else bool(cache))
    try:
        made = run(flat(function), target_of(function), CompileOptions("network", {}), resources)
    except InfeasibleError as error:
        # TVM carries errors that are made of a sentence; of others only the text would be left.
        raise MatchError(error.what, where=error.where, hint=error.hint) from error
    return relocatable(made.code(), symbol)


def _static(data: bytes) -> Any:
    with TemporaryDirectory(prefix="match-aie-") as folder:
        path = Path(folder, "layers.o")
        path.write_bytes(data)
        return tvm_api.static_module(str(path))


def _entry(function: Any, symbol: str, made: Relocatable) -> Entry:
    result = function.ret_ty
    types = list(result.fields) if isinstance(result, relax.TupleType) else [result]
    digest = hashlib.sha256(made.data).hexdigest()[:16]
    return Entry(
        symbol,
        f"Object {digest}.",
        tuple(_port(param.ty) for param in function.params),
        tuple(_port(type_) for type_ in types),
        made.arena,
        made.alignment,
        made.guarded,
        made.faults,
    )


def _port(type_: Any) -> EntryPort:
    dtype = np.dtype(str(type_.dtype))
    shape = tuple(int(size) for size in type_.shape)
    return EntryPort(_CODES[dtype.kind], dtype.itemsize * 8, shape, prod(shape) * dtype.itemsize)
