import json
import os
import shutil

import pytest
from small_network import example

from match_aie.errors import ProjectError
from match_aie.toolchain import folder as folders
from match_aie.toolchain import load, write


def below(folder):
    return sorted(p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file())


def test_what_is_written_is_read_back(tmp_path):
    sources = example()
    project = write(sources, tmp_path / "deep" / "net")
    assert below(tmp_path / "deep" / "net") == list(sources)
    assert all((project.folder / path).read_bytes() == data for path, data in sources.items())
    again = load(tmp_path / "deep" / "net")
    assert again.record.network == "net"
    assert [layer.name for layer in again.record.layers.values()] == ["fc 1", "fc 2"]
    assert again.record.places["flat"] == ("small", 0)
    assert os.listdir(tmp_path / "deep") == ["net"]


def test_an_empty_folder_is_used(tmp_path):
    write(example(), tmp_path)
    assert (tmp_path / "match_aie.json").is_file()


def test_a_project_is_replaced_only_when_asked(tmp_path):
    place = tmp_path / "net"
    write(example(), place)
    with pytest.raises(ProjectError, match="already"):
        write(example("other"), place)
    assert load(place).record.network == "net"
    (place / "build").mkdir()
    (place / "build" / "net.so").write_bytes(b"")
    write(example("other"), place, overwrite=True)
    assert below(place) == list(example("other"))
    assert os.listdir(tmp_path) == ["net"]


def test_a_link_to_a_project_stays_a_link(tmp_path):
    write(example(), tmp_path / "real")
    (tmp_path / "link").symlink_to("real")
    write(example("other"), tmp_path / "link", overwrite=True)
    assert (tmp_path / "link").is_symlink()
    assert load(tmp_path / "real").record.network == "other"


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_not_ours_stays(tmp_path, overwrite):
    (tmp_path / "thesis.tex").write_text("x")
    with pytest.raises(ProjectError, match="no match_aie project"):
        write(example(), tmp_path, overwrite=overwrite)
    with pytest.raises(ProjectError, match="file of that name"):
        write(example(), tmp_path / "thesis.tex", overwrite=overwrite)
    assert below(tmp_path) == ["thesis.tex"]


def test_a_users_file_inside_a_project_is_not_deleted(tmp_path):
    place = tmp_path / "net"
    write(example(), place)
    (place / "src" / "mine.c").write_text("x")
    with pytest.raises(ProjectError, match="did not write"):
        write(example(), place, overwrite=True)
    assert (place / "src" / "mine.c").is_file()


class Interrupting(dict):
    """Sources whose last file is interrupted."""

    def items(self):
        yield from list(super().items())[:-1]
        raise KeyboardInterrupt


@pytest.mark.parametrize("there", [False, True])
def test_an_interrupt_leaves_nothing_half(tmp_path, there):
    place = tmp_path / "net"
    if there:
        write(example(), place)
    with pytest.raises(KeyboardInterrupt):
        write(Interrupting(example("other")), place, overwrite=True)
    assert os.listdir(tmp_path) == (["net"] if there else [])
    if there:
        assert below(place) == list(example())


def test_an_interrupt_between_the_renames_brings_the_old_project_back(tmp_path, monkeypatch):
    place = tmp_path / "net"
    write(example(), place)
    rename, calls = os.rename, []

    def interrupted(source, target):
        calls.append(source)
        if len(calls) == 2:
            raise KeyboardInterrupt
        rename(source, target)

    monkeypatch.setattr(folders.os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(example("other"), place, overwrite=True)
    assert len(calls) == 3
    assert below(place) == list(example())
    assert os.listdir(tmp_path) == ["net"]


def test_an_interrupt_right_after_the_first_rename_brings_the_old_project_back(
    tmp_path, monkeypatch
):
    place = tmp_path / "net"
    write(example(), place)
    rename, calls = os.rename, []

    def interrupted(source, target):
        rename(source, target)
        calls.append(source)
        if len(calls) == 1:
            raise KeyboardInterrupt

    monkeypatch.setattr(folders.os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(example("other"), place, overwrite=True)
    assert below(place) == list(example())
    assert os.listdir(tmp_path) == ["net"]


@pytest.mark.parametrize("seen_as", [KeyboardInterrupt(), OSError(9, "Bad file descriptor")])
@pytest.mark.parametrize("which", [1, 2])
def test_an_interrupt_while_cleaning_up_leaves_nothing(tmp_path, monkeypatch, seen_as, which):
    place = tmp_path / "net"
    write(example(), place)
    rmtree, calls = shutil.rmtree, []

    def interrupted(folder, **options):
        calls.append(folder)
        if len(calls) == which:
            raise seen_as
        rmtree(folder, **options)

    monkeypatch.setattr(folders.shutil, "rmtree", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(example("other"), place, overwrite=True)
    assert below(place) == list(example("other"))
    assert os.listdir(tmp_path) == ["net"]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ProjectError) as caught:
        write(example(), tmp_path / "file" / "net")
    assert "file" in caught.value.where
    assert caught.value.exit_code == 1


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write anywhere")
def test_a_folder_without_permission_is_a_project_error(tmp_path):
    tmp_path.chmod(0o500)
    with pytest.raises(ProjectError):
        write(example(), tmp_path / "net")


def test_a_folder_that_is_no_project(tmp_path):
    with pytest.raises(ProjectError, match="no match_aie project"):
        load(tmp_path)
    with pytest.raises(ProjectError, match="missing"):
        load(tmp_path / "nowhere")


def damaged(tmp_path, change):
    place = tmp_path / "net"
    write(example(), place)
    path = place / "match_aie.json"
    document = json.loads(path.read_text())
    path.write_text(json.dumps(change(document)))
    return place


def test_another_schema_version_is_said_so(tmp_path):
    place = damaged(tmp_path, lambda d: d | {"schema_version": 99})
    with pytest.raises(ProjectError, match="schema version 99, this match_aie reads 1"):
        load(place)


def without(key):
    return lambda document: {k: v for k, v in document.items() if k != key}


@pytest.mark.parametrize(
    "change",
    [
        *(without(key) for key in ("tensors", "steps", "layers", "memory", "build", "files")),
        lambda d: d | {"tensors": [1]},
        lambda d: d | {"steps": None},
        lambda d: d | {"layers": [dict(d["layers"][0], workload={})]},
        lambda d: d | {"aliases": [{"view": "flat", "base": "flat"}]},
        lambda d: d | {"memory": {"nbytes": "many", "alignment": 64}},
        lambda d: [d],
        lambda d: {"name": "something else"},
    ],
)
def test_a_damaged_manifest_is_a_project_error(tmp_path, change):
    with pytest.raises(ProjectError):
        load(damaged(tmp_path, change))


def test_text_that_is_no_json(tmp_path):
    place = tmp_path / "net"
    write(example(), place)
    for text in ("", "{", "\x00", "[" * 100_000):
        (place / "match_aie.json").write_text(text)
        with pytest.raises(ProjectError, match="damaged"):
            load(place)


def test_a_missing_file_is_named(tmp_path):
    place = tmp_path / "net"
    write(example(), place)
    (place / "weights" / "net.bin").unlink()
    with pytest.raises(ProjectError, match=r"weights/net\.bin"):
        load(place)


def test_a_project_may_be_moved(tmp_path):
    write(example(), tmp_path / "a")
    shutil.move(tmp_path / "a", tmp_path / "b")
    assert load(tmp_path / "b").folder == tmp_path / "b"
    assert str(tmp_path) not in (tmp_path / "b" / "match_aie.json").read_text()
