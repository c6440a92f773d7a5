"""Which cell a workload has, and how loops over tiles say which way it is spread."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

from match_aie.hardware import Loop, Mapping
from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.graph.recurrent_gates import LEAST
from match_aie.targets.aie_ml.graph.recurrent_joined import MOST_TILES
from match_aie.targets.aie_ml.kernels.recurrent import LANES, Cell
from match_aie.targets.aie_ml.kernels.recurrent_gates import SPLITS
from match_aie.workload import Workload


def cell_of(workload: Workload) -> Cell:
    """Of a recurrent layer."""
    if workload.kind != "gru":
        return "lstm"
    return "gru" if workload.parameter("linear_before_reset") else "gru_before"


def splits(device: Device) -> Iterator[Mapping]:
    """Loops over tiles and lanes of every cut that a layer might have."""
    lanes = Loop("K", LANES)
    yield Mapping((lanes,), ())
    yield from (Mapping((Loop("K", tiles), lanes), ()) for tiles in range(2, MOST_TILES + 1))
    yield Mapping((Loop("C", 2), Loop("K", 2), lanes), ())
    yield from (Mapping((Loop("K", 1), Loop("K", n), lanes), ()) for n in range(2, MOST_TILES + 1))
    for tiles in range(2, device.core_rows + 1):
        yield Mapping((Loop("C", tiles), Loop("K", 1), lanes), ())
    yield from (Mapping((Loop("C", 1), Loop("K", n), lanes), ()) for n in range(1, MOST_TILES + 1))
    depths = {len(split) for splits_of in SPLITS.values() for split in splits_of}
    for depth, chains in product(sorted(depths), range(LEAST, MOST_TILES + 1)):
        yield Mapping((Loop("C", depth), Loop("K", chains), lanes), ())


def along_cascade(spatial: Sequence[Loop]) -> int | None:
    """Tiles of the cascade that such loops are of; None where they are of none.

    In float32 several may have the inputs' columns: a loop over these, and one over the state's.
    """
    if len(spatial) == 3 and spatial[1].dim == "C":
        return spatial[0].size + spatial[1].size
    tiles = spatial[0].size
    return tiles if len(spatial) == 3 and tiles > 2 and spatial[1].size == 1 else None


def with_logic(spatial: Sequence[Loop]) -> bool:
    """Whether such loops are of tiles whose gates are in programmable logic."""
    if len(spatial) < 3 or spatial[1].dim == "C":
        return False
    return (spatial[0].dim, spatial[0].size) == ("C", 1)
