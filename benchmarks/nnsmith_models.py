"""Random models by NNSmith, each a file of its own; run it with a Python that has NNSmith.

    python benchmarks/nnsmith_models.py FOLDER [--count 1000] [--seed 0]

NNSmith and PyTorch are no dependencies of the project: install both anywhere
(`pip install nnsmith torch onnx`) and give that Python to `benchmarks/fuzz.py --nnsmith PYTHON`.
A model that NNSmith cannot make is left out; the seed is in the file's name.
"""

from __future__ import annotations

import argparse
import functools
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx

ELEMENTS = 4096
NODES = 8
MILLISECONDS = 5000
DTYPES = ["f32", "f64", "i32", "i64", "bool"]


def generator() -> Callable[[int], Any]:
    """From a seed to an ONNX model; reads NNSmith's operators once."""
    import torch
    from nnsmith.abstract.extension import activate_ext
    from nnsmith.graph_gen import model_gen
    from nnsmith.materialize import Model
    from nnsmith.narrow_spec import auto_opset

    # Later releases of PyTorch export by another way, which wants further packages.
    torch.onnx.export = functools.partial(torch.onnx.export, dynamo=False)
    kind = Model.init("onnx", backend_target="cpu")
    kind.add_seed_setter()
    operators = auto_opset(kind, None, vulops=False)
    activate_ext(opset=operators, factory=None)

    def made(seed: int) -> Any:
        random.seed(seed)
        np.random.seed(seed)
        torch.manual_seed(seed)
        graph = model_gen(
            opset=operators,
            method="symbolic-cinit",
            seed=seed,
            max_elem_per_tensor=ELEMENTS,
            max_nodes=NODES,
            timeout_ms=MILLISECONDS,
            rank_choices=None,
            dtype_choices=DTYPES,
        ).make_concrete()
        model = kind.from_gir(graph)
        model.refine_weights()
        return model.onnx_model

    return made


def models(count: int, seed: int) -> Iterator[tuple[int, Any]]:
    """(seed, model) of as many as NNSmith can make of `count` seeds."""
    made = generator()
    for own in range(seed, seed + count):
        try:
            yield own, made(own)
        except Exception as error:  # noqa: BLE001  NNSmith fails in ways of its own
            print(f"seed {own}: {type(error).__name__}: {str(error)[:100]}", flush=True)


def main() -> None:
    """Write the models."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    warnings.simplefilter("ignore")
    for seed, model in models(options.count, options.seed):
        # Renamed when whole: the fuzzer reads the folder meanwhile.
        partial = options.folder / f".{seed}.onnx"
        onnx.save(model, partial)
        partial.rename(options.folder / f"nnsmith_{seed:06}.onnx")


if __name__ == "__main__":
    main()
