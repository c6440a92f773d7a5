"""Which functions of a module are partitioned, and each of them as `main` of a module."""

from __future__ import annotations

from typing import Any

from tvm import ir, relax

#: Attributes of functions that some pass made for a code generator.
_MADE = ("Codegen", "Composite", "Primitive")


def entry_points(module: Any) -> list[str]:
    """Names of the Relax functions to partition, in order of names.

    That is `main`; where there is none (`export_tvm` of TVM's `nn.Module` names functions after
    methods) all that the module exports. `["main"]` also where there is nothing, so that looking
    it up says so.
    """
    found = {
        var.name_hint
        for var, function in module.functions.items()
        if isinstance(function, relax.Function) and _exported(function)
    }
    return ["main"] if "main" in found or not found else sorted(found)


def _exported(function: Any) -> bool:
    attrs = function.attrs or {}
    return "global_symbol" in attrs and not any(name in attrs for name in _MADE)


def merged(module: Any) -> Any:
    """`module` with neighbouring composites of `main` in functions of their own.

    TVM's pass groups the operators of `main` and then rewrites all Relax functions but primitive
    ones, so the others pass for primitive meanwhile.
    """
    others = {
        var: function
        for var, function in module.functions.items()
        if isinstance(function, relax.Function)
        and var.name_hint != "main"
        and not any(name in (function.attrs or {}) for name in _MADE)
    }
    marked = {var: function.with_attr("Primitive", True) for var, function in others.items()}
    given = ir.IRModule({**dict(module.functions.items()), **marked}, attrs=module.attrs)
    made = relax.transform.MergeCompositeFunctions()(given)
    return ir.IRModule({**dict(made.functions.items()), **others}, attrs=made.attrs)


def as_main(module: Any, name: str) -> Any:
    """`module` with its function `name` called main."""
    if name == "main":
        return module
    functions = dict(module.functions.items())
    function = functions.pop(module.get_global_var(name))
    functions[ir.GlobalVar("main")] = function.with_attr("global_symbol", "main")
    return ir.IRModule(functions, attrs=module.attrs)


def renamed(made: Any, module: Any, name: str) -> Any:
    """`made`, which came of `as_main(module, name)`, with the function's own name."""
    if name == "main":
        return made
    functions = dict(made.functions.items())
    function = functions.pop(made.get_global_var("main"))
    functions[module.get_global_var(name)] = function.with_attr("global_symbol", name)
    return ir.IRModule(functions, attrs=made.attrs)
