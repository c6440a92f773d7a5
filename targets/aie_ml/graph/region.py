"""Rectangles of a device that a layer may take."""

from __future__ import annotations

from dataclasses import replace
from math import ceil

from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.known import device as known


def links_down(device: Device) -> int:
    """Streams that go down from a column's cores into its memory tiles."""
    return device.architecture.switch_ports.get(("core_tile", "master", "S"), device.core_rows)


def chains_high(device: Device, length: int) -> int:
    """Chains above each other: results of each go down in one of its last two columns."""
    return max(1, min(device.core_rows, links_down(device) * min(length, 2)))


def rectangle(name: str, columns: int, rows: int) -> Device:
    """A rectangle of device `name`, with all of its streams and channels."""
    whole = known(name)
    few = min(rows, whole.core_rows), min(columns, whole.columns)
    return replace(whole, core_rows=few[0], columns=few[1], shim_noc_columns=None)


def region(name: str, columns: int, rows: int) -> Device:
    """A rectangle of device `name`, which one DMA channel feeds and one empties."""
    made = rectangle(name, columns, rows)
    return replace(made, plio_in=None, plio_out=None, gmio_in=1, gmio_out=1)


def region_of_chains(name: str, chains: int, length: int) -> Device:
    """As few columns as hold so many chains; tiles have a way each to what memory tiles hold."""
    high = _high(known(name), chains, length)
    made = region(name, columns_of_chains(name, chains, length), high)
    return replace(made, gmio_in=made.core_tiles, gmio_out=made.core_tiles)


def columns_of_chains(name: str, chains: int, length: int) -> int:
    """Columns that hold so many chains."""
    return ceil(chains / _high(known(name), chains, length)) * length


def _high(device: Device, chains: int, length: int) -> int:
    """Chains above each other: results of each go down in one of its columns.

    Where no single memory tile takes them all, buffers hand them on, down through a column again.
    """
    mem = device.architecture.mem
    most = mem.dma.s2mm if mem is not None else chains
    down = links_down(device) * length - (1 if chains > most else 0)
    return max(1, min(device.core_rows, down))
