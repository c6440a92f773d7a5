"""Layers of rows of Whisper's encoder in bfloat16 as the processor has them: emitted, run, timed.

Their price in the encoder's figures is modelled (`xdna_floats.by_processor`). Here the code that is
emitted for each is compiled for x86-64-v3 and run on one core of this machine, at its real size;
each result is held to its bound.
"""

from __future__ import annotations

import ctypes
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import generated  # noqa: F401  # so that `tests` is found
from rows import figure
from xdna_floats import rows_of

from match_aie.targets.cpu.machine import machine
from tests.cc.real import real_harness as harness

Row = dict[str, object]

#: Runs of which the shortest counts.
TIMES = 25


def measured(
    case: str, sizes: Mapping[str, tuple[int, int]], many: Mapping[str, int]
) -> Iterator[Row]:
    """Milliseconds of all layers of each kind.

    Args:
        case: of the encoder.
        sizes: rows and columns by name.
        many: layers of each.

    Raises:
        AssertionError: a result is beyond its bound.
    """
    facts = machine("x86-64-v3")
    cases = [harness.case(rows_of(name, *size), 1) for name, size in sizes.items()]
    with tempfile.TemporaryDirectory() as folder:
        text = harness.c_text(cases, facts)
        flags = "-O3", "-shared", "-fPIC"
        library = ctypes.CDLL(str(harness.build(text, Path(folder), "gcc", facts, *flags)))
    for number, (name, one) in enumerate(zip(sizes, cases, strict=True)):
        arrays = harness.operands(one, facts)
        pointers = (ctypes.c_void_p * len(arrays))(*(each.ctypes.data for each in arrays))
        run, least = library[f"run{number}"], float("inf")
        for _ in range(TIMES):
            begun = time.process_time()
            run(pointers)
            least = min(least, time.process_time() - begun)
        y = arrays[len(one.workload.operands) - 1].reshape(one.workload.output.shape)
        harness.compare(harness.meant(y), one)
        each = f"{many[name]} x {1e3 * least:.3f} ms"
        note = f"{each} of one core here, processor time, least of {TIMES}"
        tag = name.replace(" ", "_").lower()
        value, metric = 1e3 * many[name] * least, "processor_measured_milliseconds"
        yield figure(f"{case}_{tag}", metric, value, "ms", "measured", note)
