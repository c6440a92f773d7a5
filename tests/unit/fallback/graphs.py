"""Small Relax modules for these tests."""

import tvm
from tvm import relax


def module_of(build_body, *arguments, names=None) -> tvm.IRModule:
    """`build_body(emit, *variables)` gives an output or a list; arguments are (shape, dtype)."""
    builder = relax.BlockBuilder()
    names = names or [f"x{i}" for i in range(len(arguments))]
    variables = [
        relax.Var(name, relax.TensorType(shape, dtype))
        for name, (shape, dtype) in zip(names, arguments, strict=True)
    ]
    with builder.function("main", variables):
        with builder.dataflow():
            result = build_body(builder.emit, *variables)
            result = relax.Tuple(result) if isinstance(result, list | tuple) else result
            result = builder.emit_output(result)
        builder.emit_func_output(result)
    return builder.get()


def layer(key, operands, *types):
    """A call of an extracted layer."""
    out = [relax.TensorType(shape, dtype) for shape, dtype in types]
    return relax.call_dps_packed(
        key, relax.Tuple(operands), out_ty=out[0] if len(out) == 1 else out
    )
