"""Short names for our functions: TVM makes a name of the names of all that a function holds."""

from __future__ import annotations

from typing import Any

from tvm import ir

from match_aie import tvm_api
from match_aie.frontend.rebuild import Emitter, Expr, rebuild

#: What the names begin with.
STEM = "match_aie_"


def numbered(module: Any) -> Any:
    """`module` with its functions for us called match_aie_0, match_aie_1, in order of first call.

    Numbers that are taken are left out.
    """
    taken = {var.name_hint for var in module.get_global_vars()}
    fresh: dict[Any, Any] = {}
    functions = dict(module.functions.items())
    number = 0
    for _, value in tvm_api.bindings(module["main"]):
        callee = getattr(value, "op", None)
        if not isinstance(callee, ir.GlobalVar) or callee in fresh or not is_ours(module[callee]):
            continue
        while f"{STEM}{number}" in taken:
            number += 1
        name = f"{STEM}{number}"
        taken.add(name)
        fresh[callee] = tvm_api.global_variable(name, callee)
        functions[fresh[callee]] = functions.pop(callee).with_attr("global_symbol", name)

    def renamed(emitter: Emitter, var: Any, value: Expr) -> Expr:
        del emitter, var
        callee = getattr(value, "op", None)
        if not isinstance(callee, ir.GlobalVar) or callee not in fresh:
            return value
        return tvm_api.CallNode(fresh[callee], value.args, value.attrs, value.ty_args)

    changed = ir.IRModule(functions, attrs=module.attrs)
    made, _ = rebuild(changed, {}, renamed)
    return tvm_api.with_main_attributes(made, module["main"].attrs)


def is_ours(function: Any) -> bool:
    """Whether TVM hands `function` to our code generator."""
    attrs = getattr(function, "attrs", None)
    return attrs is not None and str(attrs.get("Codegen", "")) == "match_aie"
