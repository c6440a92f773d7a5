"""Calls of a kernel that goes on from one to the next: blocks as ever, with pauses for locks.

The last block of a call is drained in the first steps of the next one, and what that one's first
block starts from has come before. Between them the kernel hands its activations over, and loads
no operand of the next call before it owns them. A kernel that stores hands its results over one
block later, when the last of them is stored; the operands of its next step are in registers by
then, those of the second one are loaded after.
"""

from __future__ import annotations

from dataclasses import dataclass

from match_aie.errors import TargetError
from match_aie.targets.aie_ml.kernels.fit import PASSING, copies
from match_aie.targets.aie_ml.schedule.call import BUNDLE_BYTES, FRAME_BUNDLES, CallSchedule
from match_aie.targets.aie_ml.schedule.place import BlockSchedule
from match_aie.targets.aie_ml.schedule.run import SHORT, ends, words


@dataclass(frozen=True)
class Unpaused:
    """What a kernel does between two pauses, as `Scheduled` has it.

    Attributes:
        body: cycles.
        program_bytes: of all stretches, in the first one; in others a function's entry and exit,
            which those of one function share.
        reads: cycles at which words come over the cascade.
        writes: cycles at which words go.
    """

    body: int
    program_bytes: int
    reads: tuple[int, ...]
    writes: tuple[int, ...]


@dataclass(frozen=True)
class PassSchedule:
    """All stretches of a call that goes on, by where they stand.

    Attributes:
        first: the first call, its last block not drained.
        begin: the first block of another one, in which the block before is drained.
        rest: all blocks of another one but the first.
        whole: both, without a pause between them.
        last: as `rest`, or `whole` where sums go on over the cascade, to the end of the run.
    """

    first: Unpaused
    begin: Unpaused
    rest: Unpaused
    whole: Unpaused
    last: Unpaused


def pass_schedule(call: CallSchedule) -> PassSchedule:
    """Of a kernel whose calls are like `call`.

    Raises:
        TargetError: blocks of several shapes, or a block that is not drained within the next one.
    """
    block, count = call.parts[0].schedule, call.blocks
    if len(call.parts) > 1 or ends(block, count)[1] >= 2 * block.length or count <= SHORT:
        raise TargetError("kernel: calls that go on have blocks alike, drained in the next one")
    owned, second = loads_before(block)
    total = call.program_bytes + (PASSING - copies(count)) * block.length * BUNDLE_BYTES
    make = _Maker(call, FRAME_BUNDLES * BUNDLE_BYTES)
    stores = not call.kernel.cascade_out
    return PassSchedule(
        make.stretch(count, call.lead, first=True, code=total),
        make.stretch(1, owned),
        make.stretch(count - 1, second),
        make.stretch(count, owned),
        make.stretch(count - stores, second if stores else owned, last=True),
    )


def loads_before(block: BlockSchedule) -> tuple[int, int]:
    """Cycles from a block's first load to its first product; from the first of another step."""
    loads = [p for p in block.placed if p.step is not None and p.cycle < 0]
    first, second = loads, [p for p in loads if p.step]
    return -min((p.cycle for p in first), default=0), -min((p.cycle for p in second), default=0)


@dataclass(frozen=True)
class _Maker:
    """Stretches of `call`, `code` bytes of program memory each."""

    call: CallSchedule
    code: int

    def stretch(
        self,
        count: int,
        lead: int,
        *,
        first: bool = False,
        last: bool = False,
        code: int | None = None,
    ) -> Unpaused:
        """So many blocks.

        Args:
            count: of blocks.
            lead: cycles before the first product.
            first: whether the run begins.
            last: whether the run ends.
            code: bytes of program memory, where others than a frame.
        """
        blocks = self.call.blocks
        block = self.call.parts[0].schedule
        length = block.length
        reads, writes = words(block, 1, blocks)
        begin = words(block, 0, blocks)[0] if first else []
        into = [lead + cycle for cycle in begin]
        out = [lead - length + cycle for cycle in writes] if not first else []
        for at in range(count):
            end = at == count - 1
            if not (last and end):
                into += [lead + (at + 1) * length + cycle for cycle in reads]
            if not end:
                out += [lead + at * length + cycle for cycle in writes]
            elif last:
                ending = words(block, blocks - 1, blocks)[1]
                out += [lead + at * length + cycle for cycle in ending]
        body = lead + count * length
        if last:
            body += ends(block, blocks)[1] + 1 - length
        code = self.code if code is None else code
        return Unpaused(body, code, tuple(sorted(into)), tuple(sorted(out)))
