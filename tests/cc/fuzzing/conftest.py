import pytest

from tests.fuzzing import cases


@pytest.fixture(scope="session")
def quick(tmp_path_factory):
    """The command of a C compiler that optimises little."""
    return cases.quick_compiler(tmp_path_factory.mktemp("quick"))
