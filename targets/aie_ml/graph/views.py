"""Operands as the host moves them to the array and back: buffers, and results that stay there."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class BufferView:
    """An outside as the host sees it.

    Attributes:
        name: of it.
        operand: of the layer.
        nbytes: of the array's buffer.
        begin: byte of the operand where it begins.
        part: C initialisers of a struct that says how the tensor's elements lie in it, where they
            do not lie together; empty where they do.
        struct: that struct, and the prefix of its functions.
        loaded: whether it holds constants, brought there once.
        sends: how often it goes in one run.
        narrow: whether it holds bfloat16 of a float32 operand: its bytes count within the operand
            in bfloat16, which the host makes of it first, or it of that.
    """

    name: str
    operand: str
    nbytes: int
    begin: int
    part: tuple[tuple[str, int], ...]
    struct: str = "ma_array"
    loaded: bool = False
    sends: int = 1
    narrow: bool = False

    @property
    def source(self) -> str:
        """What the host moves from or to, by its name in C."""
        return narrowed(self.operand) if self.narrow else self.operand


def narrowed(operand: str) -> str:
    """C name of an operand in bfloat16."""
    return f"{operand}_bf16"


@dataclass(frozen=True)
class HeldPart:
    """A part of a result that stays on the array, or all of it.

    Attributes:
        buffer: that holds it.
        access: its way out, as C++ text.
        view: where its elements lie in what comes out.
        in_kernel: whether the buffer is an array of a kernel's source.
    """

    buffer: str
    access: str
    view: BufferView
    in_kernel: bool = False


@dataclass(frozen=True)
class HeldResult:
    """A result that stays on the array, for whoever looks at the emulation.

    Attributes:
        layer: whose result it is.
        parts: where it lies.
        nbytes: of the tensor.
    """

    layer: str
    parts: tuple[HeldPart, ...]
    nbytes: int

    @property
    def narrow(self) -> bool:
        """Whether it lies there as bfloat16."""
        return any(part.view.narrow for part in self.parts)
