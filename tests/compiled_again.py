"""Small networks compiled in a given order, as digests of all that is emitted.

    python -m tests.compiled_again [--cache FOLDER] [--workers N] CASE ...

A case is compiled as often as it is named. Prints JSON: a list of [case, {file: digest}]. The
report's text is among the files, without measured seconds; simulated cycles are in the manifest.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import nullcontext
from pathlib import Path

import numpy as np
import onnx

import match_aie as match
from match_aie.demo import digits_model
from match_aie.hardware import MatchTarget
from match_aie.targets.cpu import CPU
from match_aie.targets.diana import Diana
from match_aie.targets.gap9 import GAP9
from match_aie.targets.versal import VersalAIEML
from match_aie.targets.xdna import XDNA
from tests.fuzzing.float_networks import float_network
from tests.fuzzing.quantised_networks import quantised_network
from tests.networks.power_of_two import dense_chain
from tests.networks.sequence import attention

GRU = Path(__file__).parent / "data" / "digits_gru.onnx"

Made = tuple[Callable[[], onnx.ModelProto | Path], Callable[[], MatchTarget]]

#: By name: what makes the model, and for what it is compiled.
CASES: dict[str, Made] = {
    "versal_dense": (lambda: dense_chain(64, (128, 128, 64), np.int8), VersalAIEML),
    "versal_convolutions": (digits_model, VersalAIEML),
    "versal_attention": (lambda: attention(16), lambda: VersalAIEML(floats="bf16")),
    "versal_gru": (lambda: GRU, lambda: VersalAIEML(floats="bf16")),
    "xdna": (lambda: dense_chain(64, (128, 64), np.int8), XDNA),
    "gap9": (lambda: quantised_network(1), GAP9),
    "cpu": (lambda: float_network(1), CPU),
    "diana": (digits_model, Diana),
}


def emitted(
    cases: Sequence[str], cache: bool | Path, executor: Executor | None
) -> Iterator[tuple[str, dict[str, str]]]:
    """Each case with the digests of its files, compiled one after the other in this process."""
    for case in cases:
        model, target = CASES[case]
        net = match.compile(model(), target(), cache=cache, executor=executor)
        report = [row for row in net.summary().split("\n") if "(measured)" not in row]
        files = {**net.sources(), "summary": "\n".join(report).encode()}
        yield case, {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}


def main() -> None:
    """Print what is emitted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="+", choices=CASES)
    parser.add_argument("--cache", type=Path, default=False)
    parser.add_argument("--workers", type=int, default=0)
    options = parser.parse_args()
    pool = ProcessPoolExecutor(options.workers) if options.workers else nullcontext()
    with pool as executor:
        found = list(emitted(options.cases, options.cache, executor))
    sys.stdout.write(json.dumps(found))


if __name__ == "__main__":
    main()
