"""What all emulated graphs of the array have in common, compiled once in a process of tests."""

import subprocess
import tempfile
from functools import cache
from pathlib import Path

from match_aie.codegen import render_template
from match_aie.targets.aie_ml.emulation import include_folder

#: For sources that are linked with it.
APART = "-DAIE_EMULATION_APART"


@cache
def _folder():
    return tempfile.TemporaryDirectory()


@cache
def emulation_object(compiler, *flags):
    """Path of adf.cpp compiled by `compiler` with `flags`; it goes when the tests end."""
    folder = Path(_folder().name)
    source, made = folder / "adf.cpp", folder / f"adf{len(list(folder.iterdir()))}.o"
    source.write_text(render_template("aie/adf.cpp.mako"))
    command = (compiler, *flags, "-c", "-I", str(include_folder()), str(source), "-o", str(made))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:4000]
    return str(made)
