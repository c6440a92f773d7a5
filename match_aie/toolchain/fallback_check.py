"""Comparing what functions of the fallback computed with what TVM computes of them.

Each call is compared on the inputs it really had, as layers are.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from match_aie.codegen.manifest import MEANINGS
from match_aie.errors import ProjectError
from match_aie.toolchain.library import Written
from match_aie.toolchain.record import Record, element_dtype
from match_aie.toolchain.walk import Now, Storages, walk

if TYPE_CHECKING:
    from match_aie.fallback.comparison import Difference
    from match_aie.fallback.reference import Reference


@dataclass(frozen=True)
class FunctionMismatch:
    """A function of the fallback whose result is not its reference's.

    Attributes:
        node: what users know the result by.
        symbol: the C function.
        operators: what it computes.
        difference: the elements that differ.
    """

    node: str
    symbol: str
    operators: str
    difference: Difference


@dataclass(frozen=True)
class FallbackChecked:
    """What a comparison of the fallback's functions found.

    Attributes:
        calls: how many were compared.
        mismatches: those that differ.
        unchecked: functions without a reference, and why.
    """

    calls: int
    mismatches: tuple[FunctionMismatch, ...] = ()
    unchecked: tuple[tuple[str, str], ...] = ()


def check_functions(
    folder: Path, record: Record, inputs: Mapping[str, np.ndarray], trace: Iterable[Written]
) -> FallbackChecked:
    """Compare every call of a fallback function in `trace` with its reference.

    Args:
        folder: of the project.
        record: its manifest.
        inputs: of the network, by the model's own names.
        trace: what every step wrote, in order.

    Raises:
        ProjectError: the file with the functions' meanings is missing or damaged.
    """
    try:
        return _Check(folder, record).run(inputs, trace)
    except (OSError, ValueError, KeyError, IndexError, TypeError) as error:
        raise ProjectError(
            f"{MEANINGS} and the code do not agree: {type(error).__name__}: {error}",
            where=str(folder),
            hint="compile the model again",
        ) from error


class _Check:
    def __init__(self, folder: Path, record: Record) -> None:
        path = folder / MEANINGS
        text = path.read_text(encoding="ascii") if MEANINGS in record.files else "{}"
        self._meanings: Mapping[str, Any] = json.loads(text)
        self._record = record
        self._operators = {f["symbol"]: f["operators"] for f in record.everything["fallback"]}
        self._constants = _constants(folder, record)
        self._dtypes = {tensor.name: tensor for tensor in record.tensors}
        self._references: dict[str, list[Reference]] = {}
        self._unchecked: dict[str, str] = {}

    def run(self, inputs: Mapping[str, np.ndarray], trace: Iterable[Written]) -> FallbackChecked:
        mismatches: list[FunctionMismatch] = []
        calls = 0
        for index, step, values, now in walk(self._record, inputs, trace):
            if step.layer is not None:
                continue
            all_arguments = self._record.everything["steps"][index]["arguments"]
            passed = [a for a in all_arguments if a["kind"] != "workspace"]
            reads = self._reads(step.symbol)
            read = [self._read(a, values, now) for a in passed[:reads]]
            got = [self._array(a["name"], now[a["name"]]) for a in passed[reads:]]
            calls += step.symbol not in self._unchecked
            for found in self._compare(step.symbol, read, got):
                operators = str(self._operators.get(step.symbol, ""))
                mismatches.append(FunctionMismatch(step.label, step.symbol, operators, found))
        return FallbackChecked(calls, tuple(mismatches), tuple(self._unchecked.items()))

    def _reads(self, symbol: str) -> int:
        """How many tensors a function does not write; they come first."""
        known = self._meanings.get(symbol)
        return known["written"].count(False) if known else 1

    def _read(self, argument: Mapping[str, str], values: Storages, now: Now) -> bytes:
        """Bytes of an argument before the call; of a result without elements, whatever is there."""
        name = argument["name"]
        if argument["access"] == "write":
            return bytes(now.get(name, b""))
        return self._constants[name] if argument["kind"] == "constant" else values.read(name)

    def _array(self, name: str, data: bytes | memoryview) -> np.ndarray:
        tensor = self._dtypes[name]
        count = int(np.prod(tensor.shape, dtype=np.int64))
        return np.frombuffer(data, element_dtype(tensor.dtype), count)

    def _compare(
        self, symbol: str, read: list[bytes], got: list[np.ndarray]
    ) -> Iterator[Difference]:
        """What differs from any of the functions that `symbol` was made of."""
        from match_aie.fallback.comparison import differences  # with TVM, which is slow to load

        if symbol not in self._meanings:  # a copy
            expected = [np.frombuffer(read[0], got[0].dtype, got[0].size)]
            found = differences(got, expected, exact=True)
            yield from [found] if found else []
            return
        for reference in self._compiled(symbol):
            expected = reference(read, self._meanings[symbol]["written"])
            found = differences(got, expected, reference.exact)
            yield from [found] if found else []

    def _compiled(self, symbol: str) -> list[Reference]:
        from match_aie.fallback.reference import NoReference, Reference

        if symbol not in self._references:
            self._references[symbol] = []
            for text in self._meanings[symbol]["meanings"]:
                try:
                    self._references[symbol].append(Reference(text))
                except NoReference as reason:
                    self._unchecked[symbol] = str(reason)
        return self._references[symbol]


def _constants(folder: Path, record: Record) -> dict[str, bytes]:
    """Bytes of the constants that emitted code reads."""
    described = record.everything["constants"]
    if not described:
        return {}
    data = (folder / f"weights/{record.network}.bin").read_bytes()
    return {c["name"]: data[c["offset"] : c["offset"] + c["nbytes"]] for c in described}
