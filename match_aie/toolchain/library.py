"""Calling a built network: aligned buffers, prepared pointers, and the trace of every tensor."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from match_aie.codegen.port import PortRecord
from match_aie.toolchain import child
from match_aie.toolchain.faults import (
    expected_sizes,
    no_sizes,
    not_loaded,
    not_supported,
    size_error,
    stopped,
)
from match_aie.toolchain.record import Record, element_dtype


@dataclass(frozen=True)
class Written:
    """What one step wrote to one tensor."""

    step: int
    tensor: int
    data: bytes | memoryview


def aligned(shape: Sequence[int], dtype: str, alignment: int) -> np.ndarray:
    """A zeroed array whose first element lies at a multiple of `alignment` bytes."""
    kind = element_dtype(dtype)
    nbytes = int(np.prod(shape, dtype=np.int64)) * kind.itemsize
    memory = np.zeros(nbytes + alignment, dtype=np.uint8)
    start = -memory.ctypes.data % alignment
    return memory[start : start + nbytes].view(kind).reshape(tuple(shape))


class Runner:
    """A network with its buffers, in this process: fill `inputs`, call, read `outputs`.

    What crashes there ends Python, and nothing stops an endless kernel: `Project.run` runs a
    network in a process of its own. Not for two threads at a time; several runners of one project
    may run in parallel.

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
        try:
            self._library, self._call = child.open_library(
                str(path), record.network, len(record.sizes)
            )
        except (OSError, AttributeError) as error:
            raise not_loaded(str(error), path) from error
        _check(self._library, record, path)
        self.inputs = self._buffers(record.inputs)
        self.outputs = self._buffers(record.outputs)
        self._arena = aligned((record.arena,), "uint8", record.alignment)
        self._in = _addresses(self.inputs)
        self._out = _addresses(self.outputs)
        self._arguments = (
            ctypes.c_void_p(self._arena.ctypes.data if record.arena else None),
            ctypes.cast(self._in, ctypes.c_void_p),
            ctypes.cast(self._out, ctypes.c_void_p),
            *(record.values or tuple(size.high for size in record.sizes)),
        )

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
            raise stopped(status, self.fault(), self._record)

    def fault(self) -> str:
        """What the target's runtime says went wrong; "" where it says nothing."""
        return child.fault(self._library)

    def traced(self) -> tuple[Written, ...]:
        """Run once and give back what every step wrote; only for a library built with the trace.

        Raises:
            ToolchainError: as a call does.
        """
        seen: list[Written] = []

        def keep(step: int, tensor: int, data: int, nbytes: int) -> None:
            seen.append(Written(step, tensor, ctypes.string_at(data, nbytes)))

        hook = child.TRACE(keep)
        setter = getattr(self._library, f"{self._record.network}_set_trace")
        setter.restype, setter.argtypes = None, [ctypes.c_void_p]
        setter(ctypes.cast(hook, ctypes.c_void_p))
        try:
            self()
        finally:
            setter(None)
        return tuple(seen)


def _check(library: ctypes.CDLL, record: Record, path: Path) -> None:
    """Refuse buffers of other sizes than the library will read and write, and other processors.

    Raises:
        ToolchainError: the library does not say its sizes, or this processor cannot run it.
        ProjectError: its sizes are not the manifest's.
    """
    sizes = [size for _, size in expected_sizes(record)]
    try:
        different = child.other_size(library, record.network, sizes)
    except AttributeError as error:
        raise no_sizes(str(error), path) from error
    if different is not None:
        raise size_error(record, *different, path)
    reason = child.unsupported(library, record.network)
    if reason:
        raise not_supported(reason, path)


def _addresses(buffers: Mapping[str, np.ndarray]) -> ctypes.Array[ctypes.c_void_p]:
    return child.pointers([buffer.ctypes.data for buffer in buffers.values()])
