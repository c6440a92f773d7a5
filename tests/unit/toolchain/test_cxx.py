"""C++ beside a network's C: which compiler, and what a project without one is told."""

import pytest

from match_aie.codegen.sources import units
from match_aie.errors import InternalError, TargetError, ToolchainError
from match_aie.hardware import Unit
from match_aie.toolchain import cxx


def without(monkeypatch, *there):
    monkeypatch.delenv("CXX", raising=False)
    monkeypatch.setattr(cxx.shutil, "which", lambda name: f"/bin/{name}" if name in there else None)


@pytest.mark.parametrize(
    ("c_compiler", "there", "wanted"),
    [
        (("gcc-13",), ("g++-13", "c++"), ("g++-13",)),
        (("clang",), ("clang++", "c++"), ("clang++",)),
        (("gcc-13",), ("g++",), ("g++",)),
        (("python", "-m", "ziglang", "cc"), ("python",), ("python", "-m", "ziglang", "c++")),
        (("ccache", "gcc-13"), ("ccache", "g++-13"), ("ccache", "g++-13")),
        (("ccache", "gcc-13"), ("ccache", "c++"), ("c++",)),
        (("arm-linux-gnueabi-gcc",), ("arm-linux-gnueabi-g++",), ("arm-linux-gnueabi-g++",)),
    ],
)
def test_the_counterpart_of_the_c_compiler(monkeypatch, c_compiler, there, wanted) -> None:
    without(monkeypatch, *there)
    assert cxx.find_cxx_compiler(c_compiler) == wanted


def test_cxx_names_one(monkeypatch) -> None:
    without(monkeypatch, "myc++", "g++")
    monkeypatch.setenv("CXX", "myc++ -v")
    assert cxx.find_cxx_compiler(("gcc",)) == ("myc++", "-v")
    monkeypatch.setenv("CXX", "nothing")
    with pytest.raises(ToolchainError, match=r"no C\+\+ compiler nothing"):
        cxx.find_cxx_compiler()


def test_none_is_an_error_that_says_what_to_install(monkeypatch) -> None:
    without(monkeypatch)
    with pytest.raises(ToolchainError, match=r"has C\+\+ sources") as caught:
        cxx.find_cxx_compiler(("gcc",))
    assert "apt install g++" in caught.value.hint


def test_units_of_one_path_are_one_file() -> None:
    one = Unit("aie/x.h", "aie/graph_kernels.h.mako", {"name": "x", "calls": ()})
    other = Unit("aie/x.h", "aie/graph_kernels.h.mako", {"name": "z", "calls": ()})
    assert list(units([one, one])) == ["aie/x.h"]
    with pytest.raises(InternalError, match=r"aie/x\.h and differ"):
        units([one, other])
    with pytest.raises(TargetError, match="neither C nor"):
        Unit("aie/x.h", "aie/graph_kernels.h.mako", compiled=True)
