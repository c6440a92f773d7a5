"""Cycles of an independent simulator, and how ours were fitted to them.

They are GVSoC's, none of silicon: of NE16 (`ne16_cycles.csv`: 11 layers, stride 1 only) and of the
DMA engine (`dma_cycles.csv`).
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from match_aie.targets.gap9.ne16.job import Mode, Ne16Layer, Ne16Tile, tile_registers
from match_aie.targets.gap9.timing.dma import Transfer
from match_aie.targets.gap9.timing.ne16 import Latencies, Ne16Job, decode, phases


@dataclass(frozen=True)
class TimedLayer:
    """A whole layer that NE16 ran as one job.

    Attributes:
        name: of the case, as in `ne16_golden.npz`.
        layer: what its jobs share.
        tile: its sizes.
        cycles: GVSoC's, from the trigger to the end.
    """

    name: str
    layer: Ne16Layer
    tile: Ne16Tile
    cycles: float

    @property
    def job(self) -> Ne16Job:
        """The one job that it is."""
        (registers,) = tile_registers(self.layer, self.tile)
        return decode(registers)


@dataclass(frozen=True)
class TimedTransfer:
    """A transfer that a core started and waited for; `cold` for the first of the run."""

    transfer: Transfer
    cycles: float
    cold: bool


def read_layers(path: Path) -> list[TimedLayer]:
    """The rows of `ne16_cycles.csv`."""
    return [_layer(row) for row in csv.DictReader(path.read_text().splitlines())]


def _layer(row: dict[str, str]) -> TimedLayer:
    value = {name: int(text) for name, text in row.items() if name not in ("name",)}
    mode = Mode.CONV1X1 if value["kernel"] == 1 else Mode.CONV3X3
    layer = Ne16Layer(
        Mode.DEPTHWISE if value["depthwise"] else mode,
        weight_bits=value["weight_bits"],
        out_bytes=value["out_bits"] // 8,
        scale_bits=value["scale_bits"] if value["norm"] else 0,
        bias=bool(value["bias"]),
        shift=value["shift"],
        relu=bool(value["relu"]),
    )
    sizes = ("out_h", "out_w", "K", "in_h", "in_w", "C", "pad_top", "pad_left")
    tile = Ne16Tile(*(value[name] for name in sizes))
    return TimedLayer(row["name"], layer, tile, float(value["run_cycles"]))


def read_transfers(path: Path) -> list[TimedTransfer]:
    """The rows of `dma_cycles.csv`."""
    found = []
    for number, row in enumerate(csv.DictReader(path.read_text().splitlines())):
        transfer = Transfer(
            "load" if row["direction"] == "in" else "store",
            int(row["line_bytes"]),
            int(row["lines"]),
        )
        found.append(TimedTransfer(transfer, float(row["total_cycles"]), number == 0))
    return found


def halves(
    layers: Sequence[TimedLayer],
) -> tuple[list[TimedLayer], list[TimedLayer]]:
    """Those that constants are fitted to (even rows, from 0), and those that they are judged by."""
    return list(layers[0::2]), list(layers[1::2])


def fit(layers: Sequence[TimedLayer]) -> Latencies:
    """Least squares of relative errors, to tenths of a cycle."""
    rows, rest = [], []
    for layer in layers:
        found = phases(layer.job)
        row = [1.0, 0.0, 0.0, 0.0]
        row[1 + layer.job.mode] = found.passes
        rows.append([value / layer.cycles for value in row])
        rest.append((layer.cycles - found.words) / layer.cycles)
    answer, *_ = np.linalg.lstsq(np.asarray(rows), np.asarray(rest), rcond=None)
    return Latencies(*(round(float(value), 1) for value in answer))
