"""Networks and data of the benchmarks: those of the tests, networks generated here."""

from __future__ import annotations

import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from tests.networks import constructs, network  # noqa: E402
from tests.networks.exported import exported_cnn  # noqa: E402
from tests.networks.image import autoencoder  # noqa: E402
from tests.networks.quantised import unsigned  # noqa: E402
from tests.networks.recurrent import keyword_gru  # noqa: E402
from tests.networks.transformers import quantised_encoder  # noqa: E402

#: Facts and measurements of others; their sources are in `README.md` there.
DATA = ROOT / "tests" / "data"

__all__ = [
    "DATA",
    "ROOT",
    "autoencoder",
    "constructs",
    "exported_cnn",
    "keyword_gru",
    "network",
    "quantised_encoder",
    "unsigned",
]
