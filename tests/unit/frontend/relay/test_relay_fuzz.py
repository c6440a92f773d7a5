"""Damaged Relay text: always a typed error or a module, never anything else."""

import random

import numpy as np
from relay_samples import REAL, metadata

from match_aie.errors import ModelError
from match_aie.frontend.relay import read

SAMPLES = (
    REAL,
    '#[version = "0.0.5"]\nfn (%x: Tensor[(1, 3), float32], Primitive=1) {\n'
    "  let %y = nn.softmax(%x + 1f * -2.5f64, axis=-1);\n"
    "  (%y, meta[relay.Constant][0], {%x}).1\n}\n" + metadata(np.arange(4, dtype=np.int8)),
    "free_var %a: Tensor[(3), int8];\n%0 = split(%a, indices_or_sections=[1, 2]);\n%0.1\n",
)
PIECES = (
    "(",
    ")",
    "{",
    "}",
    "[",
    "]",
    "%",
    "%0",
    "@main",
    "/*",
    "*/",
    '"',
    ";",
    ",",
    "=",
    "let",
    "fn",
    "def",
    "if",
    "meta[",
    "-",
    ".",
    "1e9999f",
    "9" * 40,
    "\\",
    "\x00",
    "é",
    "#[metadata]",
    "#[version",
    "Tensor[(",
    "->",
    "//",
    "\n",
    "0x",
    "True",
    "match",
    "ref(",
    "?",
    ":",
)


def mutate(text: str, rng: random.Random) -> str:
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text) + 1)
        kind = rng.randrange(5)
        if kind == 0:
            text = text[:at] + text[at + rng.randint(1, 30) :]
        elif kind == 1:
            text = text[:at] + rng.choice(PIECES) + text[at:]
        elif kind == 2:
            start = rng.randrange(len(text) + 1)
            text = text[:at] + text[start : start + rng.randint(1, 60)] + text[at:]
        elif kind == 3:
            text = (
                text[:at]
                + chr(rng.choice((0, 9, 34, 37, 40, 92, 125, 0xB2, 0x661, 0xD800)))
                + text[at + 1 :]
            )
        else:
            text = text[:at]
    return text


def test_mutated_text():
    """2,000 cases; most are refused, some still mean something."""
    rng = random.Random(0)
    outcomes = {True: 0, False: 0}
    for case in range(2000):
        text = mutate(SAMPLES[case % len(SAMPLES)], rng)
        try:
            read(text)
            outcomes[True] += 1
        except ModelError:
            outcomes[False] += 1
    assert outcomes[False] > 1000
    assert outcomes[True] > 50


def test_random_tokens():
    rng = random.Random(1)
    for _ in range(500):
        text = " ".join(rng.choice(PIECES) for _ in range(rng.randint(1, 60)))
        try:
            read("def @main() {\n" + text)
        except ModelError:
            continue
