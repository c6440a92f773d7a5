"""What tests import by a bare name is one file, whichever folders a run is given.

Folders of tests are put on the path as they are asked for: of two files of one name, that of the
folder that was asked for last would be taken.
"""

import ast
from collections import defaultdict
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]


def bare_names(file: Path) -> set[str]:
    """First parts of the absolute imports of a file."""
    found = set()
    for node in ast.walk(ast.parse(file.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module.split(".")[0])
    return found


def test_modules_imported_by_a_bare_name_have_one_file():
    files = defaultdict(list)
    for file in sorted(TESTS.rglob("*.py")):
        files[file.stem].append(file)
    several = {name for name, there in files.items() if len(there) > 1}
    for there in files.values():
        for file in there:
            assert not bare_names(file) & several, file
