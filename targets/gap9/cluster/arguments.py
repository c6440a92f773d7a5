"""Words of a kernel's argument, which is copied for workers that stand by."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from match_aie.targets.gap9.cluster.kernels import template_of
from match_aie.workload import Workload

#: Of the structures of `ma_cluster.h` in memories of 32 bits, by name.
STRUCTURES: Mapping[str, int] = MappingProxyType(
    {
        "ma_window": 37,
        "ma_elements": 19,
        "ma_product": 22,
        "ma_norm": 14,
        "ma_real_rows": 9,
        "ma_recurrent": 14,
        "ma_permutation": 14,
    }
)
#: Which one a template fills.
FILLED: Mapping[str, str] = MappingProxyType(
    {
        "window": "ma_window",
        "conv16": "ma_window",
        "real_window": "ma_window",
        "elements": "ma_elements",
        "real_add": "ma_elements",
        "matmul": "ma_product",
        "layer_norm": "ma_norm",
        "real_rows": "ma_real_rows",
        "recurrent": "ma_recurrent",
        "permute": "ma_permutation",
    }
)


def argument_words(workload: Workload) -> int:
    """Of the kernel that runs a layer, 4 bytes each."""
    template = template_of(workload).removeprefix("gap9/").removesuffix(".c.mako")
    return STRUCTURES[FILLED[template]]
