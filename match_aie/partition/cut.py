"""Taking the chosen layers out of the Relax module, each an opaque call in its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.model import Model
from match_aie.frontend.rebuild import Emitter, Expr, rebuild
from match_aie.partition.layer import Extracted


def cut(model: Model, layers: Mapping[str, Extracted]) -> Model:
    """`model` with every layer a `call_dps_packed(key, inputs)`; what they computed is gone.

    LegalizeOps would also legalise inside composite functions, so layers leave the module before
    the fallback sees it.

    Args:
        model: the normalised model that the layers were extracted from.
        layers: key, such as "ma_3" -> layer.
    """
    main = model.module["main"]
    variables: dict[str, Any] = {tvm_api.variable_name(p): p for p in main.params}
    variables.update((tvm_api.variable_name(var), var) for var, _ in tvm_api.bindings(main))
    keys = {layer.output: key for key, layer in layers.items()}

    def replace_roots(emitter: Emitter, var: Any, value: Expr) -> Expr:
        key = keys.get(tvm_api.variable_name(var))
        if key is None:
            return value
        inputs = [emitter.env[variables[name]] for name in layers[key].inputs]
        return relax.call_dps_packed(key, relax.Tuple(inputs), out_ty=var.ty)

    module, labels = rebuild(model.module, model.labels, replace_roots)
    return replace(model, module=module, labels=labels)
