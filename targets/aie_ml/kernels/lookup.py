"""Kernels that look elements up in a table: `aie::parallel_lookup`, four entries at a time.

A table lies in two arrays in different banks, each of which has every 128 bits twice (256 on
XDNA2), so that four lanes read at once. The vendor's headers have it for AIE-ML and XDNA2
(detail/aie2/parallel_lookup.hpp): an entry of 8 bits takes 16 there, hence tables hold 16 or 32
bits. Keys are the elements' bits. What a core repeats is a fact (`CoreTile.table_bytes`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, field

import numpy as np

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.devices import Architecture, Device, Generation
from match_aie.targets.aie_ml.kernels.call import Parameter
from match_aie.targets.aie_ml.kernels.elements import ElementCall
from match_aie.targets.aie_ml.kernels.spec import C_TYPES
from match_aie.workload import RECURRENT, ROWS_BFLOAT16, Workload

#: Kinds whose kernels read tables in parallel.
LOOKS_UP = frozenset({"table", "function", "softmax", "attention", *RECURRENT})

#: Generations with kernels of bfloat16, whose lines of tables public headers describe.
LOOKING_UP: tuple[Generation, ...] = ("AIE-ML", "XDNA1")

#: Generations with kernels of rows in bfloat16, which read no lines.
FLOAT_ROWS: tuple[Generation, ...] = (*LOOKING_UP, "XDNA2")

#: Bytes that a table of AIE-ML repeats, and entries of one.
REPEATED = 16
ENTRIES = 256

#: Parameters that are a table's two arrays.
TABLES = ("w", "cd")

#: Keys that are looked up together.
KEYS = 16


def table_bytes(device: Device) -> int:
    """Bytes that a table repeats in the memory of its cores.

    Raises:
        TargetError: no public header says how they read tables in parallel.
    """
    found = device.architecture.core.table_bytes
    if found is None:
        core = device.architecture.name
        raise TargetError(f"no public header says how cores of {core} read tables in parallel")
    return found


def lacks(workload: Workload, core: Architecture) -> str | None:
    """Why cores cannot look up what a layer's kernel does; None where they can."""
    real = workload.real is not None
    looks = workload.kind in LOOKS_UP and not (workload.kind == "attention" and real)
    if looks and core.core.table_bytes is None:
        return f"no public header says how cores of {core.name} read tables in parallel"
    if workload.kind in RECURRENT and core.name not in LOOKING_UP:
        return f"no public header says how cores of {core.name} read lines of tables"
    if real and workload.kind in ROWS_BFLOAT16 and core.name not in FLOAT_ROWS:
        known = " and ".join(FLOAT_ROWS)
        return f"rows in bfloat16 have kernels for {known}, not for {core.name}"
    return None


def duplicated(table: np.ndarray, repeated: int = REPEATED) -> np.ndarray:
    """Entries, each `repeated` bytes of them twice, filled up with 0: an array of a table."""
    many = repeated // table.itemsize
    parts = np.pad(table.reshape(-1), (0, -table.size % many)).reshape(-1, many)
    return np.ascontiguousarray(np.repeat(parts, 2, axis=0)).reshape(-1)


def entries_of(array: np.ndarray, repeated: int = REPEATED) -> np.ndarray:
    """The table [256] that `duplicated` made an array of."""
    return array.reshape(-1, 2, repeated // array.itemsize)[:, 0].reshape(-1)


@dataclass(frozen=True)
class TableSpec:
    """y = table[x], element by element.

    Attributes:
        a: element type of x, 8 bits.
        dtype: of y, likewise.
    """

    a: str
    dtype: str

    def __post_init__(self) -> None:
        """Refuse types that are no keys or no packed entries."""
        if {self.a, self.dtype} - {"int8", "uint8"}:
            raise TargetError(f"no table of {self.a} into {self.dtype}")

    @property
    def lanes(self) -> int:
        """Elements of a vector."""
        return 2 * KEYS

    @property
    def family(self) -> str:
        """Identifier that kernels with the same source share."""
        return f"table_{self.a}_{self.dtype}"

    #: Its template, which reads the kernel under the name `k`.
    template = "aie/table.hpp.mako"

    #: C++ name of an element type.
    c_type = staticmethod(C_TYPES.__getitem__)


@dataclass(frozen=True)
class TableCall(ElementCall[TableSpec]):
    """A table's function: buffers x and y, the table's two arrays.

    Attributes:
        rows: vectors of a call.
        repeated: bytes that its table repeats.
    """

    rows: int
    repeated: int = field(default=REPEATED, kw_only=True)

    #: Its template, which reads it under the name `call`.
    template = "aie/table_layer.cpp.mako"

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        """Both arrays; that called w lies in a bank of its own."""
        return (Parameter("w", "int16", 2 * ENTRIES), Parameter("cd", "int16", 2 * ENTRIES))

    def meaning(self, inputs: tuple[np.ndarray, ...], *values: np.ndarray) -> np.ndarray:
        """What it stores for rows of elements, as its first array says."""
        entries = entries_of(values[0], self.repeated)
        return entries[inputs[0].view(np.uint8)].astype(self.spec.dtype)


@dataclass(frozen=True)
class FilledCall(TableCall, ABC):
    """A function of rows that are filled up to whole vectors.

    Attributes:
        columns: elements of a row, before it is filled up.
    """

    columns: int

    @property
    def width(self) -> int:
        """Elements of a row, in whole vectors."""
        return -(-self.columns // self.spec.lanes) * self.spec.lanes

    def meaning(self, inputs: tuple[np.ndarray, ...], *values: np.ndarray) -> np.ndarray:
        """What it stores for whole rows; what it stores behind a row's elements nobody reads."""
        rows = inputs[0].reshape(-1, self.width)
        stored = np.zeros(rows.shape, self.spec.dtype)
        stored[:, : self.columns] = self.rows_of(rows[:, : self.columns], *values)
        return stored.reshape(-1)

    @abstractmethod
    def rows_of(self, x: np.ndarray, *values: np.ndarray) -> np.ndarray:
        """The results of rows x [B, K]; `values` are those of the parameters."""


def table_values(table: np.ndarray) -> tuple[tuple[str, np.ndarray], ...]:
    """The parameters of a table of 8-bit entries."""
    both = duplicated(table.astype(np.int16))
    return ("w", both), ("cd", both)
