"""What the template of float32 GRUs and LSTMs reads.

The state's products come in turns: all gates at once, or, where a GRU's reset gate is applied
before the product, update and reset gates first and the new state's in a second turn.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from match_aie.hardware import Constants
from match_aie.targets.cpu.cores import Split, Way, bounds
from match_aie.targets.cpu.float_ahead import Ahead, ahead
from match_aie.targets.cpu.float_kernel import Ending, Product, literal
from match_aie.targets.cpu.float_tile import (
    MOST_ROWS,
    choose,
    fits,
    pack_panels,
    padded,
    step_cycles,
)
from match_aie.targets.cpu.machine import Machine
from match_aie.workload import Workload

#: Time steps whose input products are made at a time: enough rows for whole register tiles.
CHUNK = 48


@dataclass(frozen=True)
class Units:
    """Hidden units `start` to `stop` in panels of `width`, all gates of a panel together.

    `valid` units of the last vector of a panel exist.
    """

    start: int
    stop: int
    vectors: int
    lanes: int
    valid: int

    @property
    def width(self) -> int:
        """Units of a panel as packed."""
        return self.vectors * self.lanes

    @property
    def panels(self) -> range:
        """Where panels start."""
        return range(self.start, self.stop, self.width)


@dataclass(frozen=True)
class Turn:
    """Gates whose products with a state are made together.

    Attributes:
        mark: what its functions are called behind the layer's name.
        first: number of its first gate.
        gates: how many.
    """

    mark: str
    first: int
    gates: int


@dataclass(frozen=True)
class RecurrentKernel:
    """A GRU or LSTM.

    Attributes:
        kind: which.
        gates: 3 or 4.
        turns: in which the products with the state come.
        product: of the inputs of a chunk of time steps with all gates' weights.
        units: panels of hidden units.
        heights: sequences of a register tile of the state's product: those of whole ones, then
            what is left.
        ending: of the product with the state.
        chunk: time steps whose input products are made at a time.
        state_bias: elements of the packed bias before those of the state's product.
        places: where in the scratch something begins, in elements: "zero" a first state, "cells",
            "update" a gate, "reset" the state times one, "coded" the state as it is in 8 bits,
            "stored" all of x likewise, "kept" sums of a tile of the inputs' product.
        scratch: elements of it.
        cell_clip: C literal of the largest magnitude of a cell, 0 for none.
        codes: how a state is stored in 8 bits; "" where it is not.
        input_codes: likewise x.
        split: of the hidden units over cores, which meet after every turn; None for one.
        ahead: how the inputs' product goes along with the state's; None where it goes before.
    """

    kind: str
    gates: int
    turns: tuple[Turn, ...]
    product: Product
    units: tuple[Units, ...]
    heights: tuple[int, ...]
    ending: Ending
    chunk: int
    state_bias: int
    places: Mapping[str, int]
    scratch: int
    cell_clip: str
    codes: str
    input_codes: str
    split: Split | None = None
    ahead: Ahead | None = None

    @property
    def columns(self) -> tuple[int, ...]:
        """Where parts of the inputs' product begin and end."""
        parts = self.split.parts if self.split else 1
        return bounds(Way("", self.product.columns, self.product.tile.width), parts)

    @property
    def padded(self) -> int:
        """Hidden units of all panels, padding included."""
        return sum(len(u.panels) * u.width for u in self.units)


def turns_of(workload: Workload) -> tuple[Turn, ...]:
    """One, or two where the second product reads what the first one's gates make."""
    gates = workload.sizes["G"]
    if workload.kind == "gru" and not workload.parameter("linear_before_reset"):
        return (Turn("", 0, gates - 1), Turn("_new", gates - 1, 1))
    return (Turn("", 0, gates),)


def meetings(workload: Workload) -> int:
    """Times that cores wait for each other."""
    each = len(turns_of(workload)) + bool(workload.state_codes)
    return workload.sizes["OY"] * each + 1


def gates_of(workload: Workload) -> tuple[int, ...]:
    """Gates of every turn."""
    return tuple(turn.gates for turn in turns_of(workload))


def recurrent_kernel(
    workload: Workload, machine: Machine, split: Split | None = None, *, floats: bool = True
) -> RecurrentKernel:
    """Tiles for the inputs' product, panels for the state's.

    Args:
        workload: a GRU or LSTM.
        machine: the core.
        split: of the hidden units over cores.
        floats: whether products are of floats.
    """
    d = workload.sizes
    way = ahead(workload, machine, gates_of(workload)) if floats else None
    chunk = way.rows if way else min(d["OY"], max(1, CHUNK // d["B"]))
    heights = (chunk,) if way else tuple({chunk * d["B"], d["OY"] % chunk * d["B"]} - {0})
    columns = d["G"] * d["K"]
    tile = way.tile if way else choose(machine, max(heights), columns, d["C"])
    ending = Ending(bias="columns", length=d["C"])
    product = Product(tile, heights, columns, d["C"], d["C"], columns, ending)
    places, scratch = places_of(workload, 2 * chunk if way else chunk)
    if way:
        places["kept"] = -(-scratch // tile.lanes) * tile.lanes
        scratch = places["kept"] + way.kept
        rows, units = 1, _units(d["K"], 1, machine.lanes)
    else:
        rows, units = panels_of(machine, gates_of(workload), d["K"], d["B"])
    return RecurrentKernel(
        kind=workload.kind,
        gates=d["G"],
        turns=turns_of(workload),
        product=product,
        units=units,
        heights=(rows, d["B"] % rows) if d["B"] % rows else (rows,),
        ending=Ending(bias="columns", length=d["K"]),
        chunk=chunk,
        state_bias=padded(tile, columns),
        places=places,
        scratch=scratch,
        cell_clip=literal(workload.cell_clip),
        codes=workload.state_codes,
        input_codes=workload.input_codes,
        split=split,
        ahead=way,
    )


def places_of(workload: Workload, chunk: int, *, floats: bool = True) -> tuple[dict[str, int], int]:
    """What lies behind the inputs' products of a chunk, and elements of all.

    Without `floats` what is stored in 8 bits has no place as floats.
    """
    d = workload.sizes
    given = {operand.name for operand in workload.operands}
    needed = {
        "cells": workload.kind == "lstm" and not workload.gives_cell,
        "zero": "x1" not in given,
        "update": len(turns_of(workload)) > 1,
        "reset": len(turns_of(workload)) > 1,
        "coded": floats and bool(workload.state_codes),
    }
    at, found = chunk * d["B"] * d["G"] * d["K"], {}
    for name in (name for name, there in needed.items() if there):
        found[name] = at
        at += d["B"] * d["K"]
    if floats and workload.input_codes:
        found["stored"] = at
        at += workload.inputs[0].size
    return found, at


def panels_of(
    machine: Machine, gates: Sequence[int], hidden: int, batch: int
) -> tuple[int, tuple[Units, ...]]:
    """Sequences that a register tile takes, and panels of units: the fewest modelled cycles.

    What counts is a step of the reduction of all tiles: their products, and the panels' way from
    the second cache, which is taken once for every tile's sequences.

    Args:
        machine: the core.
        gates: of every turn.
        hidden: units.
        batch: sequences side by side.
    """
    lanes, needed = machine.lanes, -(-hidden // machine.lanes)
    rate = machine.caches[min(1, len(machine.caches) - 1)].bytes_per_cycle / (4 * lanes)

    def step(rows: int, vectors: int) -> float:
        wide = [np.asarray(g * vectors) for g in gates]
        products = sum(float(step_cycles(machine, np.asarray(rows), each)) for each in wide)
        return products if batch == 1 else max(products, sum(gates) * vectors / rate)

    def cycles(tile: tuple[int, int]) -> tuple[float, int]:
        (tall, low), (whole, rest) = divmod(batch, tile[0]), divmod(needed, tile[1])
        total = 0.0
        for count, rows in ((tall, tile[0]), (int(low > 0), low)):
            for panels, vectors in ((whole, tile[1]), (int(rest > 0), rest)):
                total += count * panels * step(rows, vectors) if count * panels else 0.0
        return total, -tile[0]

    tiles = [
        (rows, vectors)
        for rows in range(1, min(batch, MOST_ROWS) + 1)
        for vectors in range(1, machine.vector_registers)
        if fits(rows, max(gates) * vectors, machine.vector_registers)
    ]
    rows, vectors = min(tiles or [(1, 1)], key=cycles)
    return rows, _units(hidden, vectors, lanes)


def _units(hidden: int, vectors: int, lanes: int) -> tuple[Units, ...]:
    """Panels of so many vectors a gate, and what is left."""
    whole = hidden - hidden % (vectors * lanes)
    found = [Units(0, whole, vectors, lanes, lanes)] if whole else []
    if whole < hidden:
        rest = -(-(hidden - whole) // lanes)
        found.append(Units(whole, hidden, rest, lanes, hidden - whole - (rest - 1) * lanes))
    return tuple(found)


def pack_recurrent(
    kernel: RecurrentKernel, workload: Workload, constants: Constants
) -> dict[str, np.ndarray]:
    """Weights in panels; the state's with all gates of a turn side by side, bias[1] likewise."""
    d, product = workload.sizes, kernel.product
    columns, hidden = d["G"] * d["K"], d["K"]
    pad = padded(product.tile, columns) - columns
    matrices, biases = [], []
    gates = constants["recurrent"].reshape(kernel.gates, hidden, hidden)
    bias = constants["bias"][1].reshape(kernel.gates, hidden)
    for turn in kernel.turns:
        own = slice(turn.first, turn.first + turn.gates)
        for units in kernel.units:
            for start in units.panels:
                stop = min(start + units.width, hidden)
                wide = np.zeros((hidden, turn.gates, units.width), np.float32)
                wide[:, :, : stop - start] = gates[own, start:stop].transpose(2, 0, 1)
                tail = np.zeros((turn.gates, units.width), np.float32)
                tail[:, : stop - start] = bias[own, start:stop]
                matrices.append(wide.reshape(-1))
                biases.append(tail.reshape(-1))
    return {
        **constants,
        "weight": pack_panels(constants["weight"].T, product.tile),
        "recurrent": np.concatenate(matrices),
        "bias": np.concatenate([np.pad(constants["bias"][0], (0, pad)), *biases]),
    }
