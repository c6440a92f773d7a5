"""The host emulation of the vendor's API: its headers, and the one made from the facts."""

from __future__ import annotations

from importlib.resources import files
from pathlib import Path

from match_aie.targets.aie_ml.devices import Device
from match_aie.targets.aie_ml.known import device, devices

#: Values of the vendor compiler's `__AIE_ARCH__` (aie_api).
ARCH_MACRO = {"AIE": 10, "AIE-ML": 20, "XDNA1": 20, "XDNA2": 21, "AIE-MLv2": 22}

#: Element types that the emulation knows, by the facts' names.
_ELEMENTS = {"int8": "i8", "int16": "i16", "int32": "i32", "bf16": "bf16", "fp32": "fp32"}

#: Bits of the widest sum that the emulation computes: 80-bit accumulators of AIE are left out.
_WIDEST_LANE = 64


def include_folder() -> Path:
    """Folder to give the host's compiler with `-I`: holds adf.h and aie_api/."""
    return Path(str(files("match_aie.targets.aie_ml"))) / "runtime" / "emulation"


def emulation_files() -> dict[str, bytes]:
    """The emulation's headers by path in an emitted project, below `emulation/`.

    They alone are enough. Where AIE_EMULATION_APART is defined before they are included, one other
    source has to include `adf_emulation/bodies.hpp`, which has what depends on no network.
    """
    folder = include_folder()
    headers = sorted([*folder.rglob("*.h"), *folder.rglob("*.hpp")])
    return {f"emulation/{h.relative_to(folder).as_posix()}": h.read_bytes() for h in headers}


def tilings_header() -> str:
    """Text of `aie_api/emulation/tilings.hpp`: legal mmul shapes and rates of every generation."""
    arrays = {ARCH_MACRO[device(n).architecture.name]: device(n) for n in reversed(devices())}
    shapes = [line for arch in sorted(arrays) for line in _shapes(arch, arrays[arch])]
    rates = [line for arch in sorted(arrays) for line in _rates(arch, arrays[arch])]
    return "\n".join(
        (
            "// Legal mmul shapes, their accumulators, products per instruction: from the facts.",
            "// A test holds this file to the facts: change those, then write it again from",
            "// match_aie.targets.aie_ml.emulation.tilings_header().",
            "#pragma once",
            "",
            "namespace aie_emulation {",
            "",
            f"enum class Element {{ {', '.join(_ELEMENTS.values())} }};",
            "",
            "struct Shape {",
            "    int arch;",
            "    Element a, b;",
            "    unsigned m, k, n;",
            "    bool native;",
            "    unsigned tag_bits, lane_bits;  // of the tag that names it, and of its sums",
            "};",
            "",
            "struct Rate {",
            "    int arch;",
            "    Element a, b;",
            "    unsigned macs;",
            "};",
            "",
            "inline constexpr Shape shapes[] = {",
            *shapes,
            "};",
            "",
            "inline constexpr Rate rates[] = {",
            *rates,
            "};",
            "",
            "}  // namespace aie_emulation",
            "",
        )
    )


def _elements(pair: str) -> str | None:
    """The two C++ enumerators of "int8xint8" and so on; None for types not emulated."""
    names = [_ELEMENTS.get(name) for name in pair.split("x")]
    return ", ".join(f"Element::{n}" for n in names) if len(names) == 2 and all(names) else None


def _shapes(arch: int, array: Device) -> list[str]:
    return [
        f"    {{{arch}, {elements}, {t.m}, {t.k}, {t.n}, {str(t.native).lower()}, "
        f"{t.tag_bits}, {t.lane_bits}}},"
        for pair, tilings in array.architecture.core.tilings.items()
        if (elements := _elements(pair))
        for t in tilings
        if t.lane_bits <= _WIDEST_LANE and not t.waits
    ]


def _rates(arch: int, array: Device) -> list[str]:
    return [
        f"    {{{arch}, {elements}, {macs}}},"
        for pair, macs in array.architecture.core.macs.items()
        if macs and (elements := _elements(pair))
    ]
