"""Small networks compiled in a given order, as digests of all that is emitted.

    python -m tests.compiled_again [--cache FOLDER] [--workers N] CASE ...
    python -m tests.compiled_again --seeds 100 130 > one.json
    python -m tests.compiled_again --seeds 100 130 --shuffle 1 --against one.json

A case is compiled as often as it is named. Prints JSON: a list of [case, {file: digest}]. The
report's text is among the files, without measured seconds; simulated cycles are in the manifest.
`--seeds` adds random quantised networks for every target, `--shuffle` orders, and `--against`
fails where a case differs from what another process printed, with other PYTHONHASHSEED, say.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import random
import sys
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import numpy as np
import onnx

import match_aie as match
from match_aie.demo import digits_model
from match_aie.errors import MatchError
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


#: For which random networks are compiled.
TARGETS = (VersalAIEML, XDNA, GAP9, CPU, Diana)


def fuzzed(seeds: Iterable[int]) -> dict[str, Made]:
    """Random networks for every target, by name."""
    return {
        f"{target.__name__}_{seed}": (partial(quantised_network, seed), target)
        for seed in seeds
        for target in TARGETS
    }


def emitted(
    cases: Iterable[tuple[str, Made]], cache: bool | Path, executor: Executor | None
) -> Iterator[tuple[str, dict[str, str]]]:
    """Each case with the digests of its files, compiled one after the other in this process."""
    for case, (model, target) in cases:
        try:
            net = match.compile(model(), target(), cache=cache, executor=executor)
        except MatchError as error:
            yield case, {"refused": str(error)}
            continue
        report = [row for row in net.summary().split("\n") if "(measured)" not in row]
        files = {**net.sources(), "summary": "\n".join(report).encode()}
        yield case, {path: hashlib.sha256(data).hexdigest() for path, data in files.items()}


def main() -> None:
    """Print what is emitted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", metavar="CASE")
    parser.add_argument("--cache", type=Path, default=False)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--seeds", type=int, nargs=2, default=(0, 0), metavar=("FIRST", "END"))
    parser.add_argument("--shuffle", type=int)
    parser.add_argument("--against", type=Path)
    options = parser.parse_args()
    cases = [(case, CASES[case]) for case in options.cases]
    cases += fuzzed(range(*options.seeds)).items()
    if options.shuffle is not None:
        random.Random(options.shuffle).shuffle(cases)
    pool = ProcessPoolExecutor(options.workers) if options.workers else nullcontext()
    with pool as executor:
        found = list(emitted(cases, options.cache, executor))
    sys.stdout.write(json.dumps(found))
    wanted = dict(json.loads(options.against.read_text())) if options.against else {}
    differ = [case for case, files in found if wanted.get(case, files) != files]
    if differ:
        sys.exit(f"not as in {options.against}: {', '.join(differ)}")


if __name__ == "__main__":
    main()
