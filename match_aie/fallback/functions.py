"""C functions of a network: each distinct one is scheduled, lowered and printed once."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import tvm_ffi

from match_aie.errors import UnsupportedOperatorError
from match_aie.fallback.expressions import PrintError
from match_aie.fallback.fuse import Origin
from match_aie.fallback.lower_tir import lower
from match_aie.fallback.printing import LARGEST_STACK_ARRAY, PrintedFunction, print_function
from match_aie.fallback.reference import meaning
from match_aie.fallback.scalars import C_TYPES, Helpers, short_name
from match_aie.fallback.schedule import schedule
from match_aie.lowering.program import Argument, CFunction, Tensor

#: Longest part of a symbol that comes from TVM's name of a function.
LONGEST_HINT = 40

#: Temporaries of at least this many bytes leave the stack where functions of all sizes are alike:
#: all that could grow with a size.
LARGEST_ALIKE = 9

#: Tensors of one function at most. C promises 127 parameters (C11, 5.2.4.1), compilers take more;
#: the time of lowering grows with their square: 2,000 operands of one sum took two minutes.
MOST_PARAMETERS = 512


@dataclass(frozen=True)
class MadeFunction:
    """A C function and how to call it.

    Attributes:
        symbol: its name.
        written: per tensor parameter of the PrimFunc, whether it is written.
        workspaces: bytes of each workspace parameter, which come last.
    """

    symbol: str
    written: tuple[bool, ...]
    workspaces: tuple[int, ...]

    def order(self, reads: Sequence[Argument], writes: Sequence[Argument]) -> list[Argument]:
        """Tensor arguments in C order, from those in the order of the PrimFunc.

        A result that the function never writes (it has no elements) is a read parameter in C.
        """
        arguments = list(zip([*reads, *writes], self.written, strict=True))
        return [a for a, out in arguments if not out] + [a for a, out in arguments if out]


class Functions:
    """The C functions of one network, without duplicates.

    Args:
        prefix: of every symbol; a C identifier.
        alike: whether functions are the same for all sizes but for numbers in them.
    """

    def __init__(self, prefix: str, *, alike: bool = False) -> None:
        """No function yet."""
        self._prefix = prefix
        self._alike = alike
        self._copies: dict[tuple[str, int], str] = {}
        self._helpers = Helpers(f"{prefix}_s")
        self._made: dict[int, list[tuple[Any, MadeFunction | None]]] = {}
        self._by_text: dict[PrintedFunction, MadeFunction] = {}
        self._definitions: dict[str, CFunction] = {}
        self._problems: list[tuple[str, str, str]] = []

    def of(self, prim_func: Any, hint: str, origin: Origin) -> MadeFunction | None:
        """The C function of a PrimFunc; None where it has no C form (reported at the end)."""
        bucket = self._made.setdefault(tvm_ffi.structural_hash(prim_func), [])
        for known, made in bucket:
            if known.same_as(prim_func) or tvm_ffi.structural_equal(known, prim_func):
                return made
        made = self._make(prim_func, hint, origin)
        bucket.append((prim_func, made))
        return made

    def definitions(self) -> tuple[CFunction, ...]:
        """All functions, helpers first.

        Raises:
            UnsupportedOperatorError: some PrimFuncs have no C form.
        """
        if self._problems:
            raise UnsupportedOperatorError(self._problems)
        helpers = [CFunction(symbol, text) for symbol, text in self._helpers.sources.items()]
        return (*helpers, *self._definitions.values())

    def copy(self, tensor: Tensor) -> str:
        """Symbol of the function that copies a tensor of this type and size."""
        count = prod(tensor.shape)
        number = len(self._copies) if self._alike else count
        new = f"{self._prefix}_copy_{short_name(tensor.dtype)}_{number}"
        symbol = self._copies.setdefault((tensor.dtype, count), new)
        if tensor.dtype not in C_TYPES:
            why = f"C has no type for elements of {tensor.dtype}"
            self._problems.append(("output", tensor.label, why))
            return symbol
        if symbol not in self._definitions:
            ctype = C_TYPES[tensor.dtype]
            source = (
                f"static void {symbol}(const {ctype} *restrict in_0, {ctype} *restrict out_0) {{\n"
                f"    for (int64_t i_0 = 0; i_0 < INT64_C({count}); ++i_0) {{\n"
                "        out_0[i_0] = in_0[i_0];\n    }\n}\n"
            )
            self._definitions[symbol] = CFunction(symbol, source, "copy")
        return symbol

    def _make(self, prim_func: Any, hint: str, origin: Origin) -> MadeFunction | None:
        if len(prim_func.params) > MOST_PARAMETERS:
            operators = ", ".join(origin.operators) or hint
            why = f"it takes {len(prim_func.params)} tensors at once, {MOST_PARAMETERS} at most"
            self._problems.append((operators, origin.label, why))
            return None
        try:
            printed = self._printed(prim_func)
        except PrintError as error:
            operators = ", ".join(origin.operators) or hint
            self._problems.append((operators, origin.label, f"{error} has no C form"))
            return None
        except RecursionError:
            # A choice among a thousand operands is a thousand expressions in each other.
            operators = ", ".join(origin.operators) or hint
            why = "its expressions nest too deeply; give it fewer operands at once"
            self._problems.append((operators, origin.label, why))
            return None
        if printed not in self._by_text:
            symbol = self._symbol(hint)
            operators = ", ".join(origin.operators)
            made = MadeFunction(symbol, printed.written, printed.workspaces)
            self._by_text[printed] = made
            source = printed.definition(symbol)
            self._definitions[symbol] = CFunction(symbol, source, operators, (), printed.written)
        made = self._by_text[printed]
        known = self._definitions[made.symbol]
        meanings = (*known.meanings, meaning(prim_func))
        self._definitions[made.symbol] = replace(known, meanings=meanings)
        return made

    def _printed(self, prim_func: Any) -> PrintedFunction:
        lowered = lower(schedule(prim_func, tiles=not self._alike))
        stack = LARGEST_ALIKE if self._alike else LARGEST_STACK_ARRAY
        return print_function(lowered, self._helpers, stack, runs=not self._alike)

    def _symbol(self, hint: str) -> str:
        """A new symbol that reads like `hint`."""
        clean = re.sub(r"[^a-z0-9_]", "_", hint.lower().removeprefix("fused_"))[:LONGEST_HINT]
        return f"{self._prefix}_f{len(self._definitions)}_{clean.strip('_')}"
