"""The fallback: what no execution module claims becomes freestanding C."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from match_aie import tvm_api
from match_aie.errors import InternalError
from match_aie.fallback.calls import flat_calls
from match_aie.fallback.flatten import flatten
from match_aie.fallback.functions import Functions
from match_aie.fallback.fuse import fuse
from match_aie.fallback.remainder import Remainder


def lower(module: Any, *, prefix: str, labels: Mapping[str, str], alike: bool = False) -> Remainder:
    """Turn a Relax module into calls of C functions; see `match_aie.fallback.lower`.

    Args:
        module: see there.
        prefix: see there.
        labels: see there.
        alike: see there.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", prefix, re.ASCII):
        raise InternalError(f"{prefix!r} is no C identifier")
    graph = flatten(module, labels, alike=alike)
    names = [tvm_api.variable_name(param) for param in graph.module["main"].params]
    functions = Functions(prefix, alike=alike)
    return flat_calls(fuse(graph), functions, [graph.labels[name] for name in names])
