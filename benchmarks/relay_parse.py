"""How long large Relay modules take to read.

    python benchmarks/relay_parse.py [--json FILE] [--megabytes N]

Three texts of N (5) MB: a chain of convolutions with comments as TVM prints them, one function
literal per convolution, and a metadata section of that size. CPU seconds of this process, measured.
"""

from __future__ import annotations

import argparse
import base64
import json
import struct
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
from machine import machine_row

from match_aie.frontend.relay import read

HEAD = (
    '#[version = "0.0.5"]\n'
    "def @main(%x: Tensor[(1, 8, 8, 8), int8], %w: Tensor[(8, 8, 3, 3), int8]) {\n"
)


def chain(size: int) -> str:
    """A binding per line."""
    return _lines(
        size,
        "nn.conv2d({x}, %w, padding=[1, 1, 1, 1], channels=8, kernel_size=[3, 3], "
        'out_dtype="int8") /* ty=Tensor[(1, 8, 8, 8), int8] span=model/conv:{n}:0 */',
    )


def composites(size: int) -> str:
    """A function literal per line, called at once."""
    return _lines(
        size,
        'fn (%p: Tensor[(1, 8, 8, 8), int8], Composite="match.conv2d", Primitive=1) -> '
        "Tensor[(1, 8, 8, 8), int8] {{ let %q = nn.conv2d(%p, %w, padding=[1, 1, 1, 1]); "
        "nn.relu(%q) }}({x})",
    )


def _lines(size: int, expression: str) -> str:
    lines, length, last = [HEAD], 0, "%x"
    while length < size:
        name = f"%{len(lines) - 1}"
        lines.append(f"  {name} = {expression.format(x=last, n=len(lines))};\n")
        length, last = length + len(lines[-1]), name
    return "".join([*lines, f"  {last}\n}}\n"])


def metadata(size: int) -> str:
    """One constant."""
    value = np.zeros(size * 3 // 4, np.int8)
    head = struct.pack(
        "<QQiiiBBHqq", 0xDD5E40F096B4A13F, 0, 1, 0, 1, 0, 8, 1, value.size, value.size
    )
    nodes = [
        {"type_key": ""},
        {"type_key": "Map", "keys": ["relay.Constant"], "data": [2]},
        {"type_key": "Array", "data": [3]},
        {"type_key": "relay.Constant", "attrs": {"data": "0"}},
    ]
    array = base64.b64encode(head + value.tobytes()).decode()
    graph = {"root": 1, "nodes": nodes, "b64ndarrays": [array]}
    return f"{HEAD}  meta[relay.Constant][0]\n}}\n#[metadata]\n{json.dumps(graph)}"


def main() -> None:
    """Print a table, and write rows where asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--megabytes", type=float, default=5.0)
    arguments = parser.parse_args()
    cases: dict[str, Callable[[int], str]] = {
        "chain": chain,
        "composites": composites,
        "metadata": metadata,
    }
    rows: list[dict[str, object]] = []
    print(f"{'text':12} {'MB':>6} {'bindings':>9} {'CPU s':>7}")
    for case, write in cases.items():
        text = write(int(arguments.megabytes * 1e6))
        start = time.process_time()
        _, module = read(text)
        seconds = time.process_time() - start
        bindings = len(module.functions["main"].body.bindings)
        print(f"{case:12} {len(text) / 1e6:6.2f} {bindings:9} {seconds:7.2f}")
        note = f"{len(text)} bytes, {bindings} bindings, CPU seconds"
        rows.append(
            {"case": case, "metric": "parse", "value": seconds, "unit": "s",
             "provenance": "measured", "note": note}
        )  # fmt: skip
    if arguments.json:
        arguments.json.write_text(json.dumps([*rows, machine_row()], indent=1) + "\n")


if __name__ == "__main__":
    main()
