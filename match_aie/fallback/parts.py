"""Constants of which a run needs a part: rows of a table of positions, a corner of a mask."""

from __future__ import annotations

from dataclasses import replace

from match_aie.fallback.remainder import Call, Remainder
from match_aie.fallback.scalars import C_TYPES
from match_aie.lowering.program import Argument, CFunction, Constant, Tensor
from match_aie.workload.extent import Elements, Extent


def part(
    made: Remainder, constant: Constant, extents: tuple[Elements, ...], prefix: str
) -> Remainder:
    """`made` with a constant of the largest sizes, of which a run reads the first `extents`.

    Where these lie one after the other, they are read where they lie. Else a function copies them
    before they are first read.

    Args:
        made: the call list, which names the constant.
        constant: as large as it becomes.
        extents: elements along its axes, some of which depend on sizes.
        prefix: of the network's symbols.
    """
    with_constant = replace(made, constants=(*made.constants, constant))
    grows = [axis for axis, extent in enumerate(extents) if isinstance(extent, Extent)]
    if all(size == 1 for size in constant.value.shape[: grows[-1]]):
        return with_constant
    name = f"{constant.name}_part"
    shape = constant.value.shape
    tensor = Tensor(name, str(constant.value.dtype), shape, extents=extents)
    symbol = f"{prefix}_{name}"
    function, numbers = _copying(symbol, tensor)
    arguments = (Argument("constant", constant.name, "read"), Argument("tensor", name, "write"))
    copy = Call(symbol, arguments, extents=numbers)
    first = next(i for i, call in enumerate(made.calls) if _reads(call, constant.name))
    calls = [_renamed(call, constant.name, name) for call in made.calls]
    return replace(
        with_constant,
        tensors=(*made.tensors, tensor),
        functions=(*made.functions, function),
        calls=(*calls[:first], copy, *calls[first:]),
    )


def _reads(call: Call, constant: str) -> bool:
    return any((a.kind, a.name) == ("constant", constant) for a in call.arguments)


def _renamed(call: Call, constant: str, tensor: str) -> Call:
    arguments = tuple(
        Argument("tensor", tensor, "read") if (a.kind, a.name) == ("constant", constant) else a
        for a in call.arguments
    )
    return replace(call, arguments=arguments)


def _copying(symbol: str, tensor: Tensor) -> tuple[CFunction, tuple[Elements, ...]]:
    """A function that copies the first elements of every axis, and what it takes."""
    ctype, rank = C_TYPES[tensor.dtype], len(tensor.shape)
    numbers = tensor.extents
    words = [f"const {ctype} *restrict in_0", f"{ctype} *restrict out_0"]
    words += [f"const int32_t n_{axis}" for axis in range(rank)]
    lines = [f"static void {symbol}({', '.join(words)}) {{"]
    source, target = "0", "0"
    for axis in range(rank):
        lines.append(
            f"{'    ' * (axis + 1)}for (int32_t i_{axis} = 0; i_{axis} < n_{axis}; ++i_{axis}) {{"
        )
        source = f"({source}) * {tensor.shape[axis]} + i_{axis}"
        target = f"({target}) * n_{axis} + i_{axis}"
    lines.append(f"{'    ' * (rank + 1)}out_0[{target}] = in_0[{source}];")
    lines += [f"{'    ' * (axis + 1)}}}" for axis in reversed(range(rank))]
    return CFunction(symbol, "\n".join([*lines, "}"]) + "\n", "copy of a part"), numbers
