"""Kernels' arguments have as many words on the chip as copying them is priced by."""

import re
import shutil
import subprocess
from importlib.resources import files

import pytest

from match_aie.targets.gap9 import GAP9
from match_aie.targets.gap9.cluster.arguments import FILLED, STRUCTURES
from match_aie.targets.gap9.cluster.kernels import template_of
from tests.riscv import GCC, ISAS
from tests.unit.targets.gap9_layers import LAYERS


@pytest.mark.skipif(not shutil.which(GCC), reason=f"no {GCC}")
def test_words_of_every_structure(tmp_path):
    for path, text in GAP9().runtime().files.items():
        if path.startswith("include/"):
            (tmp_path / path).parent.mkdir(exist_ok=True)
            (tmp_path / path).write_bytes(text)
    sizes = "".join(
        f'_Static_assert(sizeof(struct {name}) == {4 * words}, "");\n'
        for name, words in STRUCTURES.items()
    )
    (tmp_path / "sizes.c").write_text(f'#include "ma_cluster.h"\n{sizes}')
    command = [GCC, *ISAS["rv32imc"], "-specs=picolibc.specs", "-std=c11", "-DMA_CHIP", "-Iinclude"]
    done = subprocess.run(
        [*command, "-fsyntax-only", "sizes.c"], cwd=tmp_path, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr


def test_templates_fill_the_structures_that_are_counted():
    """Of every kind of layer; `elements` and steps have it from their callers."""
    for template in {template_of(layer) for layer in LAYERS.values()}:
        name = template.removeprefix("gap9/").removesuffix(".c.mako")
        text = files("match_aie.templates").joinpath(template).read_text()
        assert set(re.findall(r"struct (ma_(?!view|kernel|tile|axes)\w+) \w+", text)) == {
            FILLED[name]
        }
