"""Many Relay operators in one module, compiled and run once, each compared with numpy."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pytest

import match_aie as match
from match_aie.targets.cpu import CPU

#: Portable C: what this file tests does not depend on the processor.
target = CPU("portable")

needs_compiler = pytest.mark.skipif(
    not any(map(shutil.which, ("cc", "gcc", "clang"))), reason="no C compiler"
)


@dataclass
class Sheet:
    """A module under construction: inputs, constants, and expressions with what they mean."""

    inputs: dict[str, np.ndarray]
    params: dict[str, np.ndarray] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    wanted: dict[str, np.ndarray] = field(default_factory=dict)
    names: list[str] = field(default_factory=list)
    tolerance: dict[str, float] = field(default_factory=dict)

    def bind(self, expression: str) -> str:
        """A line of its own; gives its variable."""
        name = f"%{len(self.lines)}"
        self.lines.append(f"  {name} = {expression};")
        return name

    def check(self, expression: str, wanted: np.ndarray, tolerance: float = 0.0) -> None:
        """`expression` is an output that must equal `wanted`."""
        name = self.bind(expression)
        self.wanted[name] = np.asarray(wanted)
        self.tolerance[name] = tolerance
        self.names.append(expression)

    def text(self) -> str:
        types = {**self.inputs, **self.params}
        parameters = ", ".join(f"%{name}: {type_of(value)}" for name, value in types.items())
        results = ", ".join(self.wanted)
        header = '#[version = "0.0.5"]\ndef @main(' + parameters + ") {\n"
        return header + "\n".join(self.lines) + f"\n  ({results},)\n}}\n"

    def run(self, folder) -> list[np.ndarray]:
        return compiled_outputs(self.text(), self.inputs, self.params, folder)

    def verify(self, folder) -> None:
        """Compile, run, and compare every output."""
        got = self.run(folder)
        wrong = []
        for value, (name, wanted), expression in zip(
            got, self.wanted.items(), self.names, strict=True
        ):
            difference = compare(value, wanted, self.tolerance[name])
            if difference:
                wrong.append(f"{expression[:110]}: {difference}")
        assert not wrong, "\n".join(wrong)


def compare(value: np.ndarray, wanted: np.ndarray, tolerance: float) -> str:
    if value.shape != wanted.shape or value.dtype != wanted.dtype:
        return f"{value.dtype}{value.shape} instead of {wanted.dtype}{wanted.shape}"
    if tolerance:
        close = np.isclose(value, wanted, rtol=tolerance, atol=tolerance, equal_nan=True)
    else:
        close = (value == wanted) | ((value != value) & (wanted != wanted))
    if close.all():
        return ""
    at = tuple(int(i) for i in np.argwhere(~close)[0])
    return f"{(~close).sum()} of {close.size} differ, at {at} {value[at]} not {wanted[at]}"


def type_of(value: np.ndarray) -> str:
    sizes = ", ".join(str(size) for size in value.shape)
    return f"Tensor[({sizes}), {value.dtype}]"


def compiled_outputs(
    text: str, inputs: Mapping[str, np.ndarray], params: object, folder
) -> list[np.ndarray]:
    """Outputs of the module `text`, compiled for the CPU."""
    net = match.compile(text, target, params=params)
    result = net.write(folder / "net").run(dict(inputs), quick=True)
    assert result.matches_reference in (True, None)
    return [result.outputs[port.name] for port in net.outputs]
