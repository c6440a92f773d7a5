"""Calls a built network once in a process of its own: `python -I -S child.py`, a task on stdin.

Imports the standard library only, and little of that, so that it starts in a few hundredths of a
second. How far it came stands in memory that it shares with `process`, which started it: whatever
the network does to this process, the other one can tell where.
"""

from __future__ import annotations

import ctypes
import marshal
import mmap
import os
import struct
import sys

TYPE_CHECKING = False  # as in `typing`, which takes as long to load as all that is needed
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

#: 64-bit words at the start of the shared memory: how far it is, the last step that was done, the
#: network's status; of a size that differs its index and the library's value.
STATE, STEP, STATUS, INDEX, SIZE = range(5)

#: Text of what went wrong, after the words; the buffers begin after `HEAD` bytes.
TEXT, HEAD = 64, 4096

#: Values of `STATE`.
LOADING, NOT_LOADED, NO_SIZES, OTHER_SIZE, UNSUPPORTED, RUNNING, NO_ROOM, DONE = range(8)

#: What stands in the arena and the outputs before the run: NaN as float32 or float64.
POISON = b"\xa5\xa5\xff\xff"

#: Before the data of each written tensor: step, tensor, bytes.
RECORD = struct.Struct("=qqq")

TRACE = ctypes.CFUNCTYPE(None, ctypes.c_int, ctypes.c_int, ctypes.c_void_p, ctypes.c_size_t)


def open_library(path: str, network: str, sizes: int = 0) -> tuple[ctypes.CDLL, Any]:
    """The library at `path`, and its function that runs the network in a given arena.

    It takes `sizes` numbers last, those that a run gives.

    Raises:
        OSError: it does not load.
        AttributeError: it has no such function.
    """
    # A copy of its own per file name, and no symbols for others: two networks do not clash.
    library = ctypes.CDLL(path, mode=ctypes.RTLD_LOCAL)
    call = getattr(library, f"{network}_run_in")
    call.restype, call.argtypes = ctypes.c_int, [ctypes.c_void_p] * 3 + [ctypes.c_int32] * sizes
    return library, call


def other_size(
    library: ctypes.CDLL, network: str, expected: Sequence[int]
) -> tuple[int, int] | None:
    """The first of the library's sizes that is not as expected: its index, and what it is.

    The counts stand before the sizes that they count: what follows is read only if they agree.

    Raises:
        AttributeError: the library does not say its sizes.
    """
    function = getattr(library, f"{network}_sizes")
    function.restype, function.argtypes = ctypes.POINTER(ctypes.c_size_t), []
    own = function()
    for index, size in enumerate(expected):
        if own[index] != size:
            return index, int(own[index])
    return None


def unsupported(library: ctypes.CDLL, network: str) -> str:
    """What the library says against this processor; "" where it says nothing."""
    return _says(library, f"{network}_unsupported")


def fault(library: ctypes.CDLL) -> str:
    """What the target's runtime says went wrong; "" where it says nothing."""
    return _says(library, "ma_fault")


def _says(library: ctypes.CDLL, name: str) -> str:
    try:
        says = getattr(library, name)
    except AttributeError:
        return ""
    says.restype, says.argtypes = ctypes.c_char_p, []
    said: bytes | None = says()
    return said.decode(errors="replace") if said else ""


def pointers(addresses: Sequence[int]) -> ctypes.Array[ctypes.c_void_p]:
    """A C array of these addresses."""
    return (ctypes.c_void_p * max(1, len(addresses)))(*addresses)


def _poison(memory: mmap.mmap, start: int, nbytes: int) -> None:
    """Fill memory, so that what the network never writes shows in its results."""
    memory[start : start + nbytes] = (POISON * (nbytes // len(POISON) + 1))[:nbytes]


class _Task:
    """What to do, and the memory in which to say how far it is."""

    def __init__(self, given: dict[str, Any]) -> None:
        self.given = given
        self.shared = mmap.mmap(given["shared"], 0)
        self.words = (ctypes.c_int64 * 8).from_buffer(self.shared)
        self.base = ctypes.addressof(ctypes.c_char.from_buffer(self.shared))

    def say(self, state: int, text: str = "") -> None:
        """How far it is, and why it goes no further."""
        data = text.encode(errors="replace")[: HEAD - TEXT - 1]
        self.shared[TEXT : TEXT + len(data)] = data
        self.words[STATE] = state

    def ready(self) -> tuple[ctypes.CDLL, Any] | None:
        """The library, where it loads, has the manifest's sizes and runs on this processor."""
        network = self.given["network"]
        try:
            library, call = open_library(self.given["library"], network, len(self.given["values"]))
        except (OSError, AttributeError) as error:
            self.say(NOT_LOADED, str(error))
            return None
        try:
            different = other_size(library, network, self.given["sizes"])
        except AttributeError as error:
            self.say(NO_SIZES, str(error))
            return None
        if different is not None:
            self.words[INDEX], self.words[SIZE] = different
            self.say(OTHER_SIZE)
            return None
        against = unsupported(library, network)
        if against:
            self.say(UNSUPPORTED, against)
            return None
        return library, call

    def run(self) -> None:
        """Load the library and call the network once."""
        found = self.ready()
        if found is None:
            return
        library, call = found
        hook = TRACE(self.written)
        setter = getattr(library, f"{self.given['network']}_set_trace")
        setter.restype, setter.argtypes = None, [ctypes.c_void_p]
        setter(ctypes.cast(hook, ctypes.c_void_p))
        alignment, arena = self.given["alignment"], self.given["arena"]
        memory = mmap.mmap(-1, arena + alignment)
        _poison(memory, 0, len(memory))
        for offset, nbytes in zip(self.given["outputs"], self.given["counts"], strict=True):
            _poison(self.shared, offset, nbytes)
        at = ctypes.addressof(ctypes.c_char.from_buffer(memory))
        inputs = pointers([self.base + offset for offset in self.given["inputs"]])
        outputs = pointers([self.base + offset for offset in self.given["outputs"]])
        self.words[STATE] = RUNNING
        self.words[STATUS] = call(
            at + -at % alignment if arena else None, inputs, outputs, *self.given["values"]
        )
        self.say(DONE, fault(library) if self.words[STATUS] else "")

    def written(self, step: int, tensor: int, data: int, nbytes: int) -> None:
        """Keep what a step wrote; called by the network."""
        self.words[STEP] = step
        if self.given["trace"] is None:
            return
        try:
            head = ctypes.create_string_buffer(RECORD.pack(step, tensor, nbytes), RECORD.size)
            _write(self.given["trace"], ctypes.addressof(head), RECORD.size)
            _write(self.given["trace"], data, nbytes)
        except OSError as error:
            self.say(NO_ROOM, str(error))
            os._exit(0)


def _write(file: int, address: int, nbytes: int) -> None:
    """Write memory as it is; the system may take it in pieces."""
    while nbytes:
        done = os.write(file, (ctypes.c_char * nbytes).from_address(address))
        address, nbytes = address + done, nbytes - done


def end_with(parent: int, seconds: float | None) -> None:
    """End when the process that asked for this does, and in any case after a while.

    Args:
        parent: its process number.
        seconds: after which it would have ended this one.
    """
    import resource

    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))  # a crash leaves no file behind
    system = ctypes.CDLL(None)
    if sys.platform == "linux":
        death_signal, kill = 1, 9
        system.prctl(death_signal, kill, 0, 0, 0)
    if os.getppid() != parent:
        os._exit(0)
    if seconds is not None:
        system.alarm(min(int(seconds) + 2, 1 << 30))


def main() -> None:
    """Do what stdin says."""
    given = marshal.load(sys.stdin.buffer)
    end_with(given["parent"], given["seconds"])
    _Task(given).run()


if __name__ == "__main__":
    main()
