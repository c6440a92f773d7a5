"""Which `aie::mmul` shapes the vendor's headers have, and how wide their sums really are.

`facts/aie_api_mmul.csv` lists the template specialisations of the public aie_api headers (MIT
licence, release of March 2025), one a line, with file and line. Shapes that take only a sparse B
are no shapes for dense kernels and are left out here.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import MappingProxyType

from match_aie.targets.aie_ml.devices import Generation

#: The headers' name of a generation. None are public for AIE-MLv2.
_HEADERS: Mapping[str, str] = {"AIE": "aie1", "AIE-ML": "aie2", "XDNA1": "aie2", "XDNA2": "aie2p"}

#: Bits of a sum where tag and specialisation leave them open: `accauto` of aie_api
#: (detail/accum.hpp, `default_accum_bits`, rounded up to what the generation's registers have).
_DEFAULT_BITS: Mapping[str, Mapping[str, int]] = {
    "aie1": {"8x8": 48, "16x8": 48, "8x16": 48, "16x16": 48},
    "aie2": {"8x8": 32},
    "aie2p": {"8x8": 32},
}
#: Of all other pairs: 80 bits of AIE, 64 of the later ones.
_WIDEST: Mapping[str, int] = {"aie1": 80, "aie2": 64, "aie2p": 64}

Shape = tuple[str, int, int, int]


@dataclass(frozen=True)
class Sums:
    """The accumulator of a shape.

    Attributes:
        lane_bits: of one sum.
        tag_bits: of the tag that names the specialisation.
    """

    lane_bits: int
    tag_bits: int


@cache
def header_shapes(generation: Generation) -> Mapping[Shape, Sums] | None:
    """(pair, M, K, N) -> its sums, for dense operands; None where no headers are public.

    Pairs are named as in the facts: "int16xint8".
    """
    arch = _HEADERS.get(generation)
    if arch is None:
        return None
    text = files("match_aie.targets.aie_ml.facts").joinpath("aie_api_mmul.csv").read_text("utf-8")
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    rows = [row for row in csv.DictReader(lines) if row["arch"] == arch]
    found: dict[Shape, Sums] = {}
    for row in rows:
        if row["b_operand"] == "dense":
            pair = f"{_name(row['a'])}x{_name(row['b'])}"
            shape = pair, int(row["M"]), int(row["K"]), int(row["N"])
            found.setdefault(shape, _sums(arch, row))
    return MappingProxyType(found)


def _name(bits: str) -> str:
    """The facts' name of an element type: "8" is int8, "float" is fp32."""
    return f"int{bits}" if bits.isdigit() else {"float": "fp32"}.get(bits, bits)


def _sums(arch: str, row: Mapping[str, str]) -> Sums:
    """Of one specialisation; where it holds for every tag, of the types' own accumulator."""
    default = _DEFAULT_BITS[arch].get(f"{row['a']}x{row['b']}", _WIDEST[arch])
    tag = int(row["tag"]) if row["tag"].isdigit() else None
    stored = int(row["stored"]) if row["stored"].isdigit() else None
    lane = stored or tag or default
    return Sums(lane, tag or lane)
