"""The exact text of the network's own files; the same project is compiled and run."""

import shutil
from pathlib import Path

import numpy as np
import pytest
from small_network import example, expected

from match_aie.toolchain import write

TEXTS = ("Makefile", "include/net.h", "src/net.c", "src/net_main.c", "src/net_weights.S")


@pytest.mark.parametrize("path", TEXTS)
def test_text(path, golden):
    golden(f"network_{Path(path).name}", example()[path].decode())


def test_the_same_text_runs(tmp_path):
    if not any(map(shutil.which, ("cc", "gcc", "clang"))):
        pytest.skip("no C compiler")
    image = np.arange(-7, 8, dtype=np.int8).reshape(3, 5)
    result = write(example(), tmp_path / "net").run(image)
    assert np.array_equal(result.outputs["y"], expected(image))
