"""What of a filter lies within the image: what sees padding alone adds nothing, and is left out.

A 3x3 filter that moves over 7 by 7 pixels with padding around them multiplies (21 / 19)^2 = 1.22
times as often as it sees a pixel. Filter rows beyond the image are left out line by line; filter
columns where a register tile is a line, so that compilation knows which pixel lies at an edge.
"""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.targets.cpu.form import Form, Shape, stored_zero
from match_aie.targets.cpu.machine import Machine
from match_aie.workload import Workload

#: Of the products along a dimension, the share that must see padding to be left out. An assumption:
#: less is not worth the instructions.
LEAST_SHARE = 1 / 50


@dataclass(frozen=True)
class Piece:
    """Steps of a run of the filter, and who takes them.

    Attributes:
        begin: element of the run that comes first.
        end: element behind the last one.
        pixels: of a tile, that see the image there.
    """

    begin: int
    end: int
    pixels: tuple[int, ...]


@dataclass(frozen=True)
class Seen:
    """What of a filter the pixels of a convolution see of its image.

    Attributes:
        lines: (first, behind the last) row of the filter that each line of the output sees.
        columns: the same of filter columns and pixels of a line.
        skips_lines: whether rows that a line does not see are left out.
        skips_columns: whether columns are, where a register tile is a line.
    """

    lines: tuple[tuple[int, int], ...]
    columns: tuple[tuple[int, int], ...]
    skips_lines: bool
    skips_columns: bool

    @property
    def least_lines(self) -> int:
        """Filter rows that every line sees, but 1 at least."""
        return max(1, min(end - first for first, end in self.lines))

    def share(self, product: Shape, whole: bool) -> float:
        """Of all products those that are computed; in a tile that is a line where `whole`."""
        fy, fx = product.taps
        rows = _average(self.lines) / fy if self.skips_lines else 1.0
        columns = _average(self.columns) / fx if self.skips_columns and whole else 1.0
        return rows * columns


def seen(machine: Machine, workload: Workload, made: Form, product: Shape) -> Seen | None:
    """What a layer's filter sees of its image; None where all that is multiplied.

    That padding adds nothing takes prepared data that hold 0 there.

    Args:
        machine: the core.
        workload: a product.
        made: how it is summed.
        product: what is summed.
    """
    window = workload.window
    if workload.kind != "conv2d" or window is None or product.taps == (1, 1):
        return None  # of one tap, whose lines may run on without a gap, there is none to leave out
    if stored_zero(machine, workload) != 0:
        return None
    _, rows, columns, _ = workload.operand("x").shape
    (sy, sx), (dy, dx), (fy, fx) = window.stride, window.dilation, product.taps
    top, left = window.padding[:2]
    down = taps_seen(product.lines, fy, sy, dy, top, rows)
    across = taps_seen(product.pixels, fx, sx, dx, left, columns)
    together = product.runs == 1 and product.inputs % made.group == 0
    found = Seen(
        lines=down,
        columns=across,
        skips_lines=_average(down) <= (1.0 - LEAST_SHARE) * fy,
        skips_columns=together and _average(across) <= (1.0 - LEAST_SHARE) * fx,
    )
    return found if found.skips_lines or found.skips_columns else None


def taps_seen(
    outputs: int, taps: int, stride: int, dilation: int, before: int, size: int
) -> tuple[tuple[int, int], ...]:
    """(first, behind the last) tap within `size` elements, for every output along a dimension.

    Args:
        outputs: along the dimension.
        taps: of the filter.
        stride: elements from an output to the next.
        dilation: elements from a tap to the next.
        before: elements of padding before the first.
        size: elements of the image.

    >>> taps_seen(3, 3, 1, 1, 1, 3)
    ((1, 3), (0, 3), (0, 2))
    """
    found = []
    for output in range(outputs):
        at = output * stride - before
        first = min(taps, max(0, -(at // dilation)))
        end = max(first, min(taps, -((at - size) // dilation)))
        found.append((first, end))
    return tuple(found)


def pieces(found: Seen, product: Shape) -> tuple[Piece, ...]:
    """Of a run, what its filter columns and the pixels of a line take; neighbours alike as one.

    Args:
        found: with columns that are left out.
        product: whose runs are those of whole filter rows.
    """
    made: list[Piece] = []
    for tap in range(product.taps[1]):
        who = tuple(i for i, (first, end) in enumerate(found.columns) if first <= tap < end)
        begin, end = tap * product.inputs, (tap + 1) * product.inputs
        if made and made[-1].pixels == who:
            begin = made.pop().begin
        made.append(Piece(begin, end, who))
    return tuple(made)


def _average(ranges: tuple[tuple[int, int], ...]) -> float:
    return sum(end - first for first, end in ranges) / len(ranges)
