"""C that writes a tensor in another order: row-major, or blocks as a module declares them."""

from __future__ import annotations

from math import prod

from match_aie.errors import TargetError
from match_aie.fallback.scalars import C_TYPES
from match_aie.hardware import Packing
from match_aie.workload import Operand


def reorder(
    symbol: str, operand: Operand, source: Packing | None, destination: Packing | None
) -> str:
    """A function that copies a tensor of the operand's shape from one order to another, as text.

    What a ragged last block holds beside elements becomes 0.

    Args:
        symbol: its name.
        operand: whose shape and element type.
        source: how the tensor lies; row-major where None.
        destination: how it is to lie.

    Raises:
        TargetError: C has no type for the elements.
    """
    if operand.dtype not in C_TYPES:
        raise TargetError(f"C has no type for elements of {operand.dtype}, so none is reordered")
    ctype = C_TYPES[operand.dtype]
    lines = [f"static void {symbol}(const {ctype} *restrict in_0, {ctype} *restrict out_0) {{"]
    total = prod(destination.shape(operand)) if destination else operand.size
    if total != operand.size:
        lines += [
            f"    for (int64_t i = 0; i < INT64_C({total}); ++i) {{",
            "        out_0[i] = 0;",
            "    }",
        ]
    depth = 1
    for at, size in enumerate(operand.shape):
        if size > 1:
            lines.append(
                f"{'    ' * depth}for (int64_t i_{at} = 0; i_{at} < INT64_C({size}); ++i_{at}) {{"
            )
            depth += 1
    written, read = _place(operand, destination), _place(operand, source)
    lines.append(f"{'    ' * depth}out_0[{written}] = in_0[{read}];")
    lines += ["    " * level + "}" for level in reversed(range(depth))]
    return "\n".join(lines) + "\n"


def _place(operand: Operand, packing: Packing | None) -> str:
    """C expression of where the element at `i_0`, `i_1`, ... lies."""
    if packing is None:
        rows = [(at, True, 1) for at in range(len(operand.shape))]
        sizes = list(operand.shape)
    else:
        rows = [(at, counted, packing.block(at)) for at, counted in packing.places]
        sizes = list(packing.shape(operand))
    terms: list[str] = []
    stride = 1
    for (at, counted, block), size in zip(reversed(rows), reversed(sizes), strict=True):
        if operand.shape[at] > 1 and size > 1:
            part = f"i_{at}" if block == 1 else f"i_{at} {'/' if counted else '%'} {block}"
            terms.append(part if stride == 1 else f"({part}) * INT64_C({stride})")
        stride *= size
    return " + ".join(reversed(terms)) or "0"
