"""A new target as a package of its own: the files with which its author starts."""

from __future__ import annotations

import keyword
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass

from mako.template import Template

from match_aie import templates
from match_aie.errors import OptionError, shorten

_WORD = re.compile(r"[A-Za-z][A-Za-z0-9]*(?:[_-][A-Za-z0-9]+)*")
#: Where a word begins: a capital after a small letter, or the last of several capitals.
_BORDER = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@dataclass(frozen=True)
class ScaffoldNames:
    """What a new target is called: by users, as a class, as a package, and when installed."""

    name: str
    cls: str
    package: str
    distribution: str


def scaffold_names(name: str) -> ScaffoldNames:
    """Names made of `name`.

    Raises:
        OptionError: nothing can be called so.

    >>> scaffold_names("MyChip")
    ScaffoldNames(name='MyChip', cls='MyChip', package='my_chip', distribution='my-chip')
    >>> scaffold_names("my-chip").cls, scaffold_names("NPU2").package
    ('MyChip', 'npu2')
    """
    if not _WORD.fullmatch(name) or len(name) > 40:
        raise OptionError(
            f"{shorten(name, 60)!r} cannot be the name of a target",
            hint="use letters and digits, such as MyChip",
        )
    package = re.sub(r"[_-]+", "_", _BORDER.sub("_", name)).lower()
    words = re.split(r"[_-]", name)
    cls = "".join(word[0].upper() + word[1:] for word in words)
    taken = package in sys.stdlib_module_names or package in ("match_aie", "tests", "targets")
    if taken or keyword.iskeyword(package) or keyword.issoftkeyword(package):
        raise OptionError(
            f"a Python package cannot be called {package!r}", hint="add a word, such as MyChip"
        )
    return ScaffoldNames(name, cls, package, package.replace("_", "-"))


def scaffold(names: ScaffoldNames, *, tiled: bool = False) -> Mapping[str, str]:
    """Files of a new target's package, by path.

    Args:
        names: of the target.
        tiled: with a scratchpad, a DMA and their emulation; else with one memory.
    """
    folder, layer = ("scaffold/tiled", "layer") if tiled else ("scaffold", "dense")
    # Below src: else Python, started in the folder above, takes the outer folder for the package.
    inside = f"src/{names.package}"
    made = {
        "pyproject.toml": "scaffold/pyproject.toml",
        "README.md": f"{folder}/README.md",
        f"{inside}/__init__.py": "scaffold/init.py",
        f"{inside}/target.py": f"{folder}/target.py",
        "tests/test_target.py": f"{folder}/test_target.py",
    }
    if tiled:
        made[f"{inside}/runtime/emulation/ma_chip.h"] = f"{folder}/ma_chip.h"
    files = {path: _text(f"{source}.mako", names) for path, source in made.items()}
    # A layer template is not rendered here: it is what the package brings.
    source = templates.source(f"{folder}/{layer}.c.mako")
    files[f"{inside}/templates/{layer}.c.mako"] = source
    return files


def _text(path: str, names: ScaffoldNames) -> str:
    template = Template(text=templates.source(path), filename=path, strict_undefined=True)
    shown = {field: getattr(names, field) for field in ("name", "cls", "package", "distribution")}
    return str(template.render(**shown)).strip() + "\n"
