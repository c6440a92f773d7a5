"""A pass for users of `FuseOpsByPattern`: every reader of a dequantize gets its own."""

from __future__ import annotations

from typing import Any

import tvm
from tvm import relax

from match_aie import tvm_api
from match_aie.frontend.rebuild import Emitter, Expr, rebuild


@tvm.transform.module_pass(opt_level=0, name="match_aie.RepeatDequantize")
class RepeatDequantize:
    """Repeat each `dequantize` for all that read it.

    TVM's matcher takes an operator into one match only, and in networks with residuals or branches
    a dequantize has several readers. `Partition` needs no such pass.
    """

    def transform_module(self, module: Any, context: Any) -> Any:
        """The module with repeated dequantizes."""
        del context
        module = relax.transform.ConvertToDataflow()(relax.transform.Normalize()(module))
        seen: set[Any] = set()

        def visit(emitter: Emitter, var: Any, value: Expr) -> Expr:
            del var
            if not isinstance(value, tvm_api.CallNode):
                return value
            args = [_own(emitter, arg, seen) for arg in value.args]
            return tvm_api.CallNode(value.op, args, value.attrs, value.ty_args)

        made, _ = rebuild(module, {}, visit)
        return tvm_api.with_main_attributes(made, module["main"].attrs)


def _own(emitter: Emitter, arg: Any, seen: set[Any]) -> Any:
    """`arg`, or another dequantize like it where something has read it already."""
    if not isinstance(arg, relax.Var):
        return arg
    made = emitter.definition(arg)
    if tvm_api.operator_name(made) != "dequantize":
        return arg
    if arg not in seen:
        seen.add(arg)
        return arg
    copy = tvm_api.CallNode(made.op, list(made.args), made.attrs, made.ty_args)
    return emitter.builder.emit(copy)
