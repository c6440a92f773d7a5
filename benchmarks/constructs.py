"""Small generated models of constructs that networks as shipped hold, on four targets.

    python benchmarks/constructs.py [--json FILE] [--only NAME ...] [--targets NAME ...]

Each is compiled for each target, run on the host (where a target's layers are emulated), and
compared with onnxruntime without optimisation. A row says what became of it: the largest
difference by the output's largest magnitude and the share of products in modules, or why it was
refused.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import warnings
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from generated import constructs
from machine import machine_row
from models import far, feeds_of, products
from rows import figure

TARGETS = ("CPU", "GAP9", "DIANA", "VersalAIEML")

CONSTRUCTS: Mapping[str, Callable[[], onnx.ModelProto]] = {
    "inverted residuals": partial(constructs.mobilenetv2, 32, 8),
    "residual blocks": partial(constructs.resnet18, 32, 8),
    "transposed convolutions": partial(constructs.unet, 16, 8, 2),
    "convolutions, bidirectional LSTMs": partial(constructs.crnn_lstm, 32, 16),
    "lines, LSTM with states in and out": partial(constructs.vad_stream, 16),
    "words, bidirectional LSTMs": partial(constructs.bilstm_tagger, 6, 16, 16, 10_000),
    "encoder with words and a mask": constructs.small_encoder,
    "causal block, GELU by tanh": constructs.small_gpt,
    "attention with relative positions": constructs.small_deberta,
    "GRU": partial(constructs.gru, 6, 32),
}


def rows_of(name: str, model: onnx.ModelProto, target: str) -> list[dict[str, object]]:
    """What becomes of one model on one target."""
    import match_aie as match
    from match_aie.errors import MatchError

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        path.write_bytes(model.SerializeToString())
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                net = match.compile(path, target)
                feeds = feeds_of(net.inputs)
                project = net.write(Path(folder, "net"))
                own = project.run(feeds, check=False, quick=True).outputs
        except MatchError as error:
            why = f"{type(error).__name__}: {error.what.splitlines()[0]}"
            return [figure(name, f"refused_{target}", 1.0, "", "measured", why)]
        inside = sum(layer.workload.macs for layer in net.program.schedule.layers)
        share = min(100.0, 100 * inside / max(products(path), 1))
        apart = float(f"{far(own, _plain(path, feeds)):.1e}")
    difference = figure(name, f"difference_{target}", 0.0, "", "measured") | {"value": apart}
    return [difference, figure(name, f"macs_percent_{target}", share, "%", "computed")]


def _plain(path: Path, feeds: Mapping[str, np.ndarray]) -> list[np.ndarray]:
    import onnxruntime as ort

    options = ort.SessionOptions()
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.intra_op_num_threads, options.log_severity_level = 1, 4
    session = ort.InferenceSession(str(path), options, ["CPUExecutionProvider"])
    return list(session.run(None, dict(feeds)))


def main() -> None:
    """Print the rows, and write them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", nargs="*", default=list(CONSTRUCTS), choices=list(CONSTRUCTS))
    parser.add_argument("--targets", nargs="*", default=list(TARGETS), choices=TARGETS)
    options = parser.parse_args()
    rows: list[dict[str, Any]] = [machine_row()]
    for name in options.only:
        model = CONSTRUCTS[name]()
        for target in options.targets:
            rows += rows_of(name, model, target)
            print(json.dumps(rows[-1]), flush=True)
        if options.json:
            options.json.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
