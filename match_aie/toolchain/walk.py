"""Going through a run step by step, from what every step wrote."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

import numpy as np

from match_aie.toolchain.library import Written
from match_aie.toolchain.record import Record, StepRecord

#: What a step wrote, by tensor.
Now = Mapping[str, bytes | memoryview]


class Storages:
    """What lies in each storage, as far as steps have written it."""

    def __init__(self, record: Record) -> None:
        """Nothing written yet."""
        self._places = record.places
        self._values: dict[str, bytearray] = {}

    def write(self, name: str, data: bytes | memoryview) -> None:
        """Put `data` where tensor `name` lies."""
        owner, offset = self._places[name]
        value = self._values.setdefault(owner, bytearray())
        value.extend(bytes(max(0, offset + len(data) - len(value))))
        value[offset : offset + len(data)] = data

    def read(self, name: str) -> bytes:
        """From where tensor `name` begins."""
        owner, offset = self._places[name]
        return bytes(memoryview(self._values[owner])[offset:])


def walk(
    record: Record, inputs: Mapping[str, np.ndarray], trace: Iterable[Written]
) -> Iterator[tuple[int, StepRecord, Storages, Now]]:
    """Every step in order: its position, itself, what lay there before it ran, what it wrote.

    What it wrote is put in its place once the caller comes back for the next step: a step may have
    overwritten its own input.

    Args:
        record: of the project.
        inputs: of the network, by the model's own names.
        trace: what every step wrote, in order.
    """
    values = Storages(record)
    for port in record.inputs:
        values.write(port.tensor, inputs[port.name].tobytes())
    written: dict[int, dict[str, bytes | memoryview]] = {}
    for item in trace:
        written.setdefault(item.step, {})[record.tensors[item.tensor].name] = item.data
    for index, step in enumerate(record.steps):
        now = written.get(index, {})
        yield index, step, values, now
        for name, data in now.items():
            values.write(name, data)
