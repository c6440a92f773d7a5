"""Files that commands write: what was there before stays where the new one finds no room."""

import os
import resource
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

from match_aie.cli.arrays import write_outputs
from match_aie.cli.files import write_file
from match_aie.cli.reporting import _write
from match_aie.errors import MatchError


@contextmanager
def full_disk(room: int = 100) -> Iterator[None]:
    """No file gets longer than `room` bytes here."""
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, limits[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)


@pytest.mark.parametrize(
    "written",
    [
        lambda path: write_outputs(path, {"y": np.ones(1000)}),
        lambda path: _write(path, bytes(1000)),
    ],
    ids=["outputs", "page"],
)
def test_what_was_there_survives_a_full_disk(
    written: Callable[[Path], None], tmp_path: Path
) -> None:
    path = tmp_path / "result"
    path.write_text("of yesterday")
    with full_disk(), pytest.raises(MatchError, match="cannot be written") as caught:
        written(path)
    assert "free space" in str(caught.value.hint)
    assert path.read_text() == "of yesterday"
    assert os.listdir(tmp_path) == ["result"]


def test_a_file_keeps_its_mode_and_a_link_its_file(tmp_path: Path) -> None:
    path, link = tmp_path / "kept", tmp_path / "link"
    path.write_text("old")
    path.chmod(0o640)
    link.symlink_to(path)
    write_file(link, b"new")
    assert link.is_symlink()
    assert (path.read_bytes(), path.stat().st_mode & 0o777) == (b"new", 0o640)
    assert sorted(os.listdir(tmp_path)) == ["kept", "link"]


def test_devices_and_new_files(tmp_path: Path) -> None:
    write_file(Path("/dev/null"), b"gone")
    assert Path("/dev/null").is_char_device()
    write_file(tmp_path / "new", b"here")
    assert (tmp_path / "new").read_bytes() == b"here"
    with pytest.raises(OSError, match="No such file"):
        write_file(tmp_path / "missing" / "new", b"")
    with pytest.raises(IsADirectoryError):
        write_file(tmp_path, b"")


def test_pipes_by_the_names_of_descriptors() -> None:
    reading, writing = os.pipe()
    try:
        write_file(Path(f"/dev/fd/{writing}"), b"through")
        assert os.read(reading, 100) == b"through"
    finally:
        os.close(reading)
        os.close(writing)


def test_an_open_file_is_not_replaced_by_another(tmp_path: Path) -> None:
    with (tmp_path / "log").open("wb") as log:
        write_file(Path(f"/dev/fd/{log.fileno()}"), b"table")
        assert os.fstat(log.fileno()).st_size == 5
