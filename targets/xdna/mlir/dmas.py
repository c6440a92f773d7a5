"""Descriptors as the text writes them: dimensions that a verifier takes, and their form."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import prod

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.array.program import ArrayProgram, Descriptor
from match_aie.targets.aie_ml.array.semaphores import Amount
from match_aie.targets.xdna.mlir.chains import Block
from match_aie.targets.xdna.mlir.cores import use
from match_aie.targets.xdna.mlir.dialect import Dialect
from match_aie.targets.xdna.mlir.forms import attributes, memref, numbers, symbol
from match_aie.targets.xdna.mlir.syntax import Line, pairs

#: (size, step), or zeros (before, after).
Pair = tuple[int, int]

#: Dimensions of a descriptor of a core, and of a memory tile.
MOST_DIMS = {"core": 3, "mem": 4}


@dataclass(frozen=True)
class Written:
    """A descriptor's dimensions in the text, from the innermost outward.

    Attributes:
        dims: sizes and steps.
        pads: zeros in each of them; empty for none at all.
        folded: dimensions that, with the one behind each, are one of the program's, which is
            longer than a verifier takes.
    """

    dims: tuple[Pair, ...]
    pads: tuple[Pair, ...]
    folded: tuple[int, ...] = ()


def written(one: Descriptor, most_size: int, most_dims: int) -> Written:
    """Sizes and steps; those of padding alone where it is linear.

    Raises:
        TargetError: its length is not what its sizes move.
    """
    if one.pad and not one.dims:
        return Written(((one.words - sum(map(sum, one.pad)), 1),), one.pad)
    pads = (*one.pad, *((0, 0),) * (len(one.dims) - len(one.pad)))
    moved = prod(size + sum(pad) for (size, _), pad in zip(one.dims, pads, strict=True))
    if one.dims and moved != one.words:
        raise TargetError(
            f"descriptor {one.index} of tile {one.channel.tile} moves {moved} words by its sizes, "
            f"and {one.words} by its length"
        )
    found = Written(one.dims, pads if one.pad else ())
    while len(found.dims) < most_dims:
        long = [at for at, (size, _) in enumerate(found.dims) if size > most_size]
        folds = (fold for at in long if (fold := _folded(found, at, most_size)) is not None)
        more = next(folds, None)
        if more is None:
            break
        found = more
    return found


def _folded(found: Written, at: int, most: int) -> Written | None:
    """With one dimension as two; None where it has no such factors, or zeros around it."""
    size, step = found.dims[at]
    inner = next((n for n in range(most, 1, -1) if size % n == 0 and size // n <= most), None)
    if inner is None or (found.pads and found.pads[at] != (0, 0)):
        return None
    dims = (*found.dims[:at], (inner, step), (size // inner, inner * step), *found.dims[at + 1 :])
    pads = (*found.pads[: at + 1], (0, 0), *found.pads[at + 1 :]) if found.pads else ()
    behind = tuple(n + 1 if n > at else n for n in found.folded)
    return replace(found, dims=dims, pads=pads, folded=(*behind, at))


def unfolded(dims: tuple[Pair, ...], pads: tuple[Pair, ...], folded: tuple[int, ...]) -> Written:
    """The program's dimensions of those that were written."""
    for at in reversed(folded):
        (inner, step), (outer, _) = dims[at], dims[at + 1]
        dims = (*dims[:at], (inner * outer, step), *dims[at + 2 :])
        pads = (*pads[: at + 1], *pads[at + 2 :]) if pads else ()
    return Written(dims, pads)


class DmaText:
    """Blocks of channels.

    Args:
        program: whose.
        dialect: of the text.
    """

    def __init__(self, program: ArrayProgram, dialect: Dialect) -> None:
        """Of a program."""
        self._program, self._dialect = program, dialect

    def block(self, block: Block, *, core: bool) -> Iterator[str]:
        """Take, move, give."""
        yield from self._use(block.takes, "AcquireGreaterEqual")
        yield self._descriptor(block, core=core)
        yield from self._use(block.gives, "Release")

    def _use(self, amount: Amount | None, action: str) -> Iterator[str]:
        if amount is not None:
            yield use(amount, action, self._dialect)

    def _descriptor(self, block: Block, *, core: bool) -> str:
        one = block.descriptor
        buffer = self._program.buffer_at[one.channel.tile, one.buffer]
        kind = "core" if core else "mem"
        made = written(one, self._dialect.most_size, MOST_DIMS[kind])
        where = f"%{symbol(buffer, one.copy)} : {memref(buffer.bytes)}"
        form = _positional if self._dialect.positional else _named
        iteration = self._program.descriptors[block.at].iteration
        role = "again" if block.again else "turn" if block.turn else "at"
        role = role if block.split is None else "rest"
        given = [f"bd_id = {one.index} : i32", f"match.{role} = {block.at} : i32"]
        if role == "at" and made.folded:
            given.append(f"match.folded = {numbers(made.folded)}")
        if role == "at" and iteration is not None:
            given.append(f"match.iteration = {numbers(iteration)}")
        if role == "rest":
            given.append(f"match.split = {block.split} : i32")
            given += [f"match.folded = {numbers(made.folded)}"] if made.folded else []
        return f"aie.dma_bd({where}{form(one, made)}) {attributes(given)}"


def _positional(one: Descriptor, made: Written) -> str:
    """Offset, length, then dimensions and zeros from the outermost inward."""
    found = f", {one.offset}, {one.words}"
    if made.dims:
        sizes = (f"<size = {size}, stride = {step}>" for size, step in reversed(made.dims))
        found += f", [{', '.join(sizes)}]"
    return found + (f", {_pads(made)}" if made.pads else "")


def _named(one: Descriptor, made: Written) -> str:
    found = f" offset = {one.offset} len = {one.words}"
    if made.dims:
        sizes = numbers([size for size, _ in reversed(made.dims)])
        found += f" sizes = {sizes} strides = {numbers([step for _, step in reversed(made.dims)])}"
    return found + (f" pad {_pads(made)}" if made.pads else "")


def _pads(made: Written) -> str:
    found = (
        f"<const_pad_before = {before}, const_pad_after = {after}>"
        for before, after in reversed(made.pads)
    )
    return f"[{', '.join(found)}]"


def moved(line: Line, dialect: Dialect) -> tuple[str, int, int, Written]:
    """Buffer, offset, length and the program's dimensions of a descriptor that is read.

    Raises:
        TextError: it is of another form.
    """
    if dialect.positional:
        form = (
            r"\(%(\w+) : memref<[^>]*>, (\d+), (\d+)(?:, (\[<size[^\]]*\]))?(?:, (\[<c[^\]]*\]))?"
        )
        name, offset, words, sizes, pads = line.match(form)
        dims = pairs(sizes)
    else:
        form = (
            r"\(%(\w+) : memref<[^>]*> offset = (\d+) len = (\d+)"
            r"(?: sizes = \[([^\]]*)\] strides = \[([^\]]*)\])?(?: pad (\[<c[^\]]*\]))?"
        )
        name, offset, words, sizes, steps, pads = line.match(form)
        both = (list(map(int, text.split(", "))) if text else [] for text in (sizes, steps))
        dims = tuple(reversed(list(zip(*both, strict=False))))
    folded = line.listed("match.folded")
    if any(at + 1 >= len(dims) for at in folded):
        raise line.fail("dimensions that are not there")
    return name, int(offset), int(words), unfolded(dims, pairs(pads), folded)
