"""What users hand to `partition`, as a Relax module with its parameters bound."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import tvm
from tvm import ir, relax

from match_aie import frontend, tvm_api
from match_aie.errors import ModelError, shorten


def relaxed(module: Any, params: Mapping[str, Any] | None) -> Any:
    """A Relax module with the values of its parameters bound.

    Args:
        module: a `tvm.IRModule`, or Relay text (or whatever else `match_aie.compile` reads).
        params: values of parameters of `main`, by name.

    Raises:
        ModelError: there is no such parameter, or the text cannot be read.
    """
    if not isinstance(module, ir.IRModule):
        return frontend.load(module, params=params).module
    if params:
        known = [tvm_api.variable_name(param) for param in module["main"].params]
        for name in params:
            if name not in known:
                raise ModelError(
                    f"the module has no parameter called {shorten(name, 60)!r}",
                    hint=f"its parameters are {shorten(', '.join(known))}",
                )
        arrays = {name: tvm.runtime.tensor(value) for name, value in params.items()}
        module = relax.transform.BindParams("main", arrays)(module)
    return module
