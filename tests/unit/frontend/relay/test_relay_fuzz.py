"""Damaged Relay text: always a typed error or a module, never anything else."""

import random
import re

import numpy as np
import pytest
from relay_samples import REAL, metadata

from match_aie.errors import ModelError
from match_aie.frontend.relay import load_relay, read

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


#: Lowered one at a time: what is changed below are their sizes, types, numbers and operators.
OPERATORS = (
    "nn.conv2d(%a, %w, strides=[2, 1], padding=[1, 0, 2, 1], dilation=[1, 2], groups=1, "
    'channels=4, kernel_size=[3, 3], out_dtype="int32")',
    "nn.conv2d_transpose(%x, %f, strides=[2, 2], padding=[1, 1], output_padding=[1, 0])",
    "qnn.conv2d(%a, %w, 3, 0, 0.1f, 0.2f, padding=[1, 1], channels=4, kernel_size=[3, 3])",
    "qnn.add(%a, %a, 0.1f, 3, 0.07f, -4, 0.2f, 5)",
    'qnn.requantize(%n, 0.1f, 3, 0.2f, 5, axis=1, rounding="UPWARD", out_dtype="int8")',
    "nn.avg_pool2d(%a, pool_size=[3, 2], strides=[2, 2], padding=[1, 0, 1, 1], ceil_mode=True)",
    "nn.adaptive_avg_pool2d(%x, output_size=[2, 3])",
    "reshape(%x, newshape=[0, -3, -4, 2, -1])",
    "strided_slice(%x, begin=[0, 1], end=[1, 3], strides=[1, 2], axes=[1, 2])",
    "split(%x, indices_or_sections=[1, 2], axis=1).1",
    'take(%x, %n, axis=1, mode="clip")',
    "transpose(%x, axes=[0, 2, 3, 1])",
    'layout_transform(%x, src_layout="NCHW", dst_layout="NHWC")',
    "fixed_point_multiply(%n, multiplier=1073741824, shift=-3)",
    "nn.batch_matmul(squeeze(%x, axis=[0]), squeeze(%x, axis=[0]), transpose_b=True)",
    "nn.pad(%x, 0f, pad_width=[[0, 0], [0, 0], [1, 2], [2, 1]])",
    'image.resize2d(%x, size=[6, 4], method="linear", layout="NCHW")',
    "mean(%x, axis=[1], keepdims=True, exclude=True)",
    "nn.layer_norm(%x, %v, %v, axis=1, epsilon=1e-5f)",
    "concatenate((%x, %x), axis=1)",
)
HEAD = (
    "def @main(%x: Tensor[(1, 3, 4, 6), float32], %a: Tensor[(1, 3, 4, 6), int8], "
    "%w: Tensor[(4, 3, 3, 3), int8], %f: Tensor[(3, 2, 3, 3), float32], "
    "%n: Tensor[(1, 3, 4, 6), int32], %v: Tensor[(3), float32]) {\n  "
)
NUMBERS = ("0", "-1", "1", "2", "7", "1000", "-2147483649", "9" * 20, "1e30f", "True", '"x"', "[]")
TYPES = ("int8", "uint8", "int32", "int64", "float16", "float32", "float64", "bool", "int4")


def changed(text: str, rng: random.Random) -> str:
    """A number, an element type, an operator's name or an attribute is another, or not there."""
    names = [call.partition("(")[0] for call in OPERATORS]
    pattern, choices = rng.choice(
        (
            (r"(?<![\w.])-?\d+(\.\d+)?(e-?\d+)?f?(?!\w)", NUMBERS),
            (r"\bu?int\d+\b|\bfloat\d+\b", TYPES),
            (r"[a-z_0-9.]+(?=\(%)", names),
            (r", [a-z_]+=(\[[^\]]*\]|[^,()\[\]]+)", ("", ", axis=1", ", unheard=2")),
        )
    )
    found = list(re.finditer(pattern, text))
    if not found:
        return text
    at = rng.choice(found)
    return text[: at.start()] + rng.choice(choices) + text[at.end() :]


@pytest.mark.parametrize(
    ("cases", "seed"), [(400, 2), pytest.param(2000, 3, marks=pytest.mark.slow)]
)
def test_changed_operators(cases, seed):
    """Modules that mostly parse: lowered, or refused with a typed error."""
    rng = random.Random(seed)
    outcomes = {True: 0, False: 0}
    for case in range(cases):
        text = HEAD + OPERATORS[case % len(OPERATORS)] + "\n}\n"
        for _ in range(rng.randint(1, 3)):
            text = changed(text, rng)
        try:
            load_relay(text)
            outcomes[True] += 1
        except ModelError:
            outcomes[False] += 1
    assert outcomes[False] > cases / 4
    assert outcomes[True] > cases / 4
