"""Calling a built network: aligned buffers, prepared pointers, and the trace of every tensor."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from match_aie.codegen.port import PortRecord
from match_aie.errors import ProjectError, ToolchainError, shorten
from match_aie.toolchain.record import Record, element_dtype

#: What is repeated in memory before a checked run: a NaN where float32 or float64 is read.
POISON = (0xA5, 0xA5, 0xFF, 0xFF)

_TRACE = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)


@dataclass(frozen=True)
class Written:
    """What one step wrote to one tensor."""

    step: int
    tensor: int
    data: bytes


def aligned(shape: Sequence[int], dtype: str, alignment: int) -> np.ndarray:
    """A zeroed array whose first element lies at a multiple of `alignment` bytes."""
    kind = element_dtype(dtype)
    nbytes = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    memory = np.zeros(nbytes + alignment, dtype=np.uint8)
    start = -memory.ctypes.data % alignment
    return memory[start : start + nbytes].view(kind).reshape(tuple(shape))


class Runner:
    """A network with its buffers: fill `inputs`, call, read `outputs`.

    Not for two threads at a time; several runners of one project may run in parallel.

    Attributes:
        inputs: arrays to fill, by the model's own names; keep the arrays, replace their contents.
        outputs: arrays that a call fills, by the model's own names.
    """

    def __init__(self, path: Path, record: Record) -> None:
        """Load the library at `path` and prepare all addresses.

        Raises:
            ToolchainError: the library does not load, or this processor cannot run it.
            ProjectError: the library's sizes are not the manifest's.
        """
        self._record = record
        # A copy of its own per file name, and no symbols for others: two networks do not clash.
        try:
            self._library = ctypes.CDLL(str(path), mode=ctypes.RTLD_LOCAL)
            self._call = getattr(self._library, f"{record.network}_run_in")
        except (OSError, AttributeError) as error:
            raise ToolchainError(
                f"the built library does not load: {error}",
                where=str(path),
                hint="delete the project's build folder and build again",
            ) from error
        _compare_sizes(self._library, record, path)
        _refuse_unsupported(self._library, record, path)
        self.inputs = self._buffers(record.inputs)
        self.outputs = self._buffers(record.outputs)
        self._arena = aligned((record.arena,), "uint8", record.alignment)
        self._call.restype = ctypes.c_int
        self._call.argtypes = [ctypes.c_void_p] * 3
        self._in = _addresses(self.inputs)
        self._out = _addresses(self.outputs)
        self._arguments = (
            ctypes.c_void_p(self._arena.ctypes.data if record.arena else None),
            ctypes.cast(self._in, ctypes.c_void_p),
            ctypes.cast(self._out, ctypes.c_void_p),
        )

    def poison(self) -> None:
        """Fill the arena and the outputs, so that what a run never writes shows in its results.

        As floats these bytes are NaN, as integers -91, -1 or a large negative number.
        """
        for buffer in (self._arena, *self.outputs.values()):
            flat = buffer.reshape(-1).view(np.uint8)
            flat[:] = np.resize(np.array(POISON, np.uint8), flat.size)

    def _buffers(self, ports: Sequence[PortRecord]) -> Mapping[str, np.ndarray]:
        alignment = self._record.alignment
        return MappingProxyType({p.name: aligned(p.shape, p.dtype, alignment) for p in ports})

    def __call__(self) -> None:
        """Run the network once.

        Raises:
            ToolchainError: it returned a status other than 0.
        """
        status = self._call(*self._arguments)
        if status != 0:
            raise ToolchainError(
                f"the network stopped with status {status}{self._fault()}",
                where=self._record.network,
            )

    def _fault(self) -> str:
        """What the target's runtime says went wrong, after a colon; "" where it says nothing."""
        try:
            fault = self._library.ma_fault
        except AttributeError:
            return ""
        fault.restype, fault.argtypes = ctypes.c_char_p, []
        said = fault()
        return f": {said.decode(errors='replace')}" if said else ""

    def traced(self) -> tuple[Written, ...]:
        """Run once and give back what every step wrote; only for a library built with the trace.

        Raises:
            ToolchainError: as a call does.
        """
        seen: list[Written] = []

        def keep(step: int, tensor: int, data: int, nbytes: int) -> None:
            seen.append(Written(step, tensor, ctypes.string_at(data, nbytes)))

        hook = _TRACE(keep)
        setter = getattr(self._library, f"{self._record.network}_set_trace")
        setter.restype, setter.argtypes = None, [ctypes.c_void_p]
        setter(ctypes.cast(hook, ctypes.c_void_p))
        try:
            self()
        finally:
            setter(None)
        return tuple(seen)


def _compare_sizes(library: ctypes.CDLL, record: Record, path: Path) -> None:
    """Refuse buffers of other sizes than the library will read and write.

    Raises:
        ToolchainError: the library does not say what its sizes are.
        ProjectError: they are not the manifest's.
    """
    try:
        function = getattr(library, f"{record.network}_sizes")
    except AttributeError as error:
        raise ToolchainError(
            f"the built library does not say its sizes: {error}",
            where=str(path),
            hint="compile the model again",
        ) from error
    function.restype, function.argtypes = ctypes.POINTER(ctypes.c_size_t), []
    own = function()
    ports = [("input", p) for p in record.inputs] + [("output", p) for p in record.outputs]
    # The counts stand before the sizes that they count: what follows is read only if they agree.
    expected = [
        ("alignment", record.alignment),
        ("arena", record.arena),
        ("inputs", len(record.inputs)),
        ("outputs", len(record.outputs)),
        *((f"{kind} {shorten(port.name, 60)!r}", port.nbytes) for kind, port in ports),
    ]
    for index, (what, size) in enumerate(expected):
        if own[index] != size:
            raise ProjectError(
                f"the library and match_aie.json do not agree: {what} is {own[index]} in the "
                f"code and {size} in the manifest",
                where=str(path),
                hint="a changed size needs a changed model: compile it again",
            )


def _refuse_unsupported(library: ctypes.CDLL, record: Record, path: Path) -> None:
    """Raise what the library itself says against the processor, if it says anything.

    Raises:
        ToolchainError: this processor lacks what the code was built for.
    """
    try:
        says = getattr(library, f"{record.network}_unsupported")
    except AttributeError:
        return
    says.restype, says.argtypes = ctypes.c_char_p, []
    reason = says()
    if reason is not None:
        raise ToolchainError(
            reason.decode(),
            where=str(path),
            hint="compile the model for this machine, as CPU() does",
        )


def _addresses(buffers: Mapping[str, np.ndarray]) -> ctypes.Array[ctypes.c_void_p]:
    return (ctypes.c_void_p * max(1, len(buffers)))(*(b.ctypes.data for b in buffers.values()))
