"""Every Relay operator that is compiled, and the rule that lowers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from match_aie.frontend.relay.operators import (
    convolution,
    elementwise,
    norm,
    pool,
    quantised,
    reduce,
    select,
    shapes,
)
from match_aie.frontend.relay.site import Site
from match_aie.frontend.relay.values import Value

Rule = Callable[[Site], Value]

#: Operator -> its rule. A rule gives an expression (not yet bound), or a tuple of them.
RULES: Mapping[str, Rule] = MappingProxyType(
    {
        **elementwise.RULES,
        **convolution.RULES,
        **pool.RULES,
        **shapes.RULES,
        **select.RULES,
        **reduce.RULES,
        **norm.RULES,
        **quantised.RULES,
    }
)
