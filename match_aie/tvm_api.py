"""The names of TVM that change from release to release; the only file to touch on an upgrade.

Written for apache-tvm 0.27. Everything here is plain access, no policy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from importlib.metadata import version
from typing import Any, cast

import numpy as np
from tvm import get_global_func, ir, register_global_func, relax
from tvm.relax.backend import pattern_registry
from tvm_ffi import register_error

#: A compile-time tensor in the graph (relax.Constant up to 0.26).
ConstantNode = ir.GenericConst
CallNode = ir.Call


def is_constant(expr: Any) -> bool:
    """Whether `expr` is a compile-time tensor."""
    return isinstance(expr, ConstantNode)


def constant_value(expr: Any) -> np.ndarray:
    """The numpy value of a constant node."""
    return np.asarray(expr.value.numpy())


def operator_name(expr: Any) -> str:
    """Name of the called operator without "relax.", or "" where `expr` calls no operator."""
    if isinstance(expr, CallNode) and isinstance(expr.op, ir.Op):
        return str(expr.op.name).removeprefix("relax.")
    return ""


def operator_names() -> tuple[str, ...]:
    """Names of all operators that a Relax function may call, without "relax."."""
    names = (str(name) for name in ir.Op.list_op_names())
    return tuple(name.removeprefix("relax.") for name in names if name.startswith("relax."))


def operator(name: str) -> Callable[..., Any]:
    """What makes a call of an operator, such as "nn.conv2d", of operands and attributes."""
    made: Any = relax.op
    for part in name.split("."):
        made = getattr(made, part)
    return cast(Callable[..., Any], made)


def dtype_of(expr: Any) -> str:
    """Element type of a tensor expression, as numpy names it."""
    return str(expr.ty.dtype)


def shape_of(expr: Any) -> tuple[int, ...]:
    """Static shape of a tensor expression; TypeError where a dimension is symbolic."""
    return tuple(int(size) for size in expr.ty.shape)


def is_tensor(expr: Any) -> bool:
    """Whether `expr` is a tensor, as opposed to a shape, a tuple or a scalar attribute."""
    return isinstance(expr.ty, relax.TensorType)


def variable_name(var: Any) -> str:
    """The name of a Relax variable."""
    return str(var.name)


def bindings(function: Any) -> Iterator[tuple[Any, Any]]:
    """(variable, value) of every binding of a straight-line Relax function, in order."""
    for block in function.body.blocks:
        for binding in block.bindings:
            yield binding.var, binding.value


def composite_name(module: Any, call: Any) -> str:
    """The `Composite` attribute of the private function that `call` calls, or ""."""
    if not (isinstance(call, CallNode) and isinstance(call.op, ir.GlobalVar)):
        return ""
    attrs = module[call.op].attrs
    return str(attrs["Composite"]) if attrs and "Composite" in attrs else ""


def global_variable(name: str, like: Any) -> Any:
    """A variable for a function called `name`, of the type of another one."""
    var = ir.GlobalVar(name)
    relax.expr._update_type(var, like.ty)
    return var


def with_main_attributes(module: Any, attrs: Any) -> Any:
    """`module` whose `main` has these attributes, such as how many inputs are no weights."""
    main = module["main"]
    for name, value in dict(attrs or {}).items():
        main = main.with_attr(name, value)
    module.update_func(module.get_global_var("main"), main)
    return module


def register_codegen(name: str, generate: Callable[[Any, Any, Any], Any]) -> None:
    """Have `RunCodegen` call `generate(functions, options, names)` for functions of `name`."""
    register_global_func(f"relax.ext.{name}", generate, override=True)


def register_errors(errors: Sequence[type[Exception]]) -> None:
    """Have these errors, made of one string each, pass through TVM's passes as they are."""
    for error in errors:
        register_error(f"match_aie.{error.__name__}", error)


def c_module(text: str, names: Sequence[str]) -> Any:
    """A runtime module of C source that defines the packed functions `names`."""
    return get_global_func("runtime.CSourceModuleCreate")(text, "c", list(names), [])


def static_module(path: str) -> Any:
    """A runtime module that holds the object file at `path`, to be linked on export."""
    return get_global_func("runtime.ModuleLoadStaticLibrary")(path, [])


def register_patterns(patterns: Sequence[Any]) -> None:
    """Put fusion patterns into TVM's registry, the first one with the highest priority.

    The registry prefers what was added last. It also has to forget patterns before the interpreter
    ends, since their checks are Python functions, and remembers to only for those given as tuples.
    """
    pattern_registry.register_patterns(list(reversed(patterns)))
    pattern_registry._REGISTERED_PATTERN_NAMES.update(str(p.name) for p in patterns)


def same(one: Any, other: Any) -> bool:
    """Whether both are one TVM object."""
    return bool(one.same_as(other))


def dpl_parts(pattern: Any) -> tuple[str, tuple[Any, ...]]:
    """What a pattern of TVM's language is, and what it is made of.

    Returns:
        ("wildcard", ()), ("constant", ()), ("dtype", (pattern, element type)),
        ("call", (operator, operands)), or ("other", (name of its class,)).
    """
    name = type(pattern).__name__
    if name == "WildcardPattern":
        return "wildcard", ()
    if name == "ConstantPattern":
        return "constant", ()
    if name == "DataTypePattern":
        return "dtype", (pattern.pattern, pattern.dtype)
    if name == "CallPattern" and isinstance(getattr(pattern.op, "expr", None), ir.Op):
        operator = str(pattern.op.expr.name).removeprefix("relax.")
        return "call", (operator, tuple(pattern.args))
    return "other", (name,)


def module_bytes(module: Any) -> bytes:
    """A module serialised, for its hash.

    `save_json` of tvm_ffi 0.1.15, newer than the pinned release, ends the process with any release
    of TVM so far; there the module's text and its constants stand for it.
    """
    major, minor, patch = (int(part) for part in version("apache-tvm-ffi").split(".")[:3])
    if (major, minor, patch) < (0, 1, 15):
        return str(ir.save_json(module)).encode()
    parts = [str(module.script(show_meta=False)).encode()]
    for _, value in bindings(module["main"]):
        operands = getattr(value, "args", ())
        parts += [constant_value(arg).tobytes() for arg in operands if is_constant(arg)]
    return b"\0".join(parts)


def abandon(builder: Any) -> None:
    """Close the block that a `BlockBuilder` keeps open after an error, of which TVM would warn."""
    builder._end_block()


def attributes(attrs: Any) -> dict[str, Any]:
    """The attributes of a call as plain numbers, strings, None, and tuples of them."""
    if attrs is None:
        return {}
    if isinstance(attrs, ir.DictAttrs):
        return {str(key): plain(value) for key, value in attrs.items()}
    names = set(dir(attrs)) - set(dir(ir.Attrs))
    return {n: plain(getattr(attrs, n)) for n in sorted(names) if not n.startswith("_")}


def plain(value: Any) -> Any:
    """A TVM attribute value as Python data; its text where nothing simpler fits."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if hasattr(value, "value") and isinstance(value.value, (int, float)):
        return value.value
    if isinstance(value, (list, tuple)) or type(value).__name__ == "Array":
        return tuple(plain(item) for item in value)
    return str(value)
