import errno
import json
import os
import shutil
import signal
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from small_network import example

from match_aie.errors import ProjectError
from match_aie.scaffolding import new_target
from match_aie.toolchain import exchange as exchanging
from match_aie.toolchain import folder as folders
from match_aie.toolchain import free_place, load, write
from match_aie.toolchain.locks import shared


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
    made = ("net-0123456789ab.so", "net-0123456789ab.log", "net-0123456789ab-static")
    for name in (*made, "libnet.so", "net_main", "net_static"):
        (place / "build" / name).write_bytes(b"")
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

    def __getitem__(self, name):
        if name == max(self):
            raise KeyboardInterrupt
        return super().__getitem__(name)


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


def in_two_steps(monkeypatch):
    """As on a filesystem that cannot exchange two folders."""
    monkeypatch.setattr(exchanging, "_in_one_step", lambda a, b: False)


def test_a_project_is_replaced_in_two_steps_too(tmp_path, monkeypatch):
    in_two_steps(monkeypatch)
    write(example(), tmp_path / "net")
    write(example("other"), tmp_path / "net", overwrite=True)
    assert below(tmp_path / "net") == list(example("other"))
    assert os.listdir(tmp_path) == ["net"]


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("which", [1, 2])
def test_an_interrupt_between_the_renames_leaves_a_whole_project(
    tmp_path, monkeypatch, which, when
):
    in_two_steps(monkeypatch)
    place = tmp_path / "net"
    write(example(), place)
    rename, calls = os.rename, []

    def interrupted(source, target):
        calls.append(source)
        if when == "after":
            rename(source, target)
        if len(calls) == which:
            raise KeyboardInterrupt
        if when == "before":
            rename(source, target)

    monkeypatch.setattr(exchanging.os, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        write(example("other"), place, overwrite=True)
    monkeypatch.setattr(exchanging.os, "rename", rename)
    new = (which, when) == (2, "after")
    assert below(place) == list(example("other" if new else "net"))
    write(example("third"), place, overwrite=True)
    assert os.listdir(tmp_path) == ["net"]


@pytest.mark.parametrize("seen_as", [KeyboardInterrupt(), OSError(9, "Bad file descriptor")])
def test_an_interrupt_while_cleaning_up_leaves_nothing(tmp_path, monkeypatch, seen_as):
    place = tmp_path / "net"
    write(example(), place)
    clear, calls = folders.clear, []

    def interrupted(folder, names=frozenset()):
        calls.append(folder)
        if len(calls) == 1:
            raise seen_as
        clear(folder, names)

    monkeypatch.setattr(folders, "clear", interrupted)
    if isinstance(seen_as, KeyboardInterrupt):
        with pytest.raises(KeyboardInterrupt):
            write(example("other"), place, overwrite=True)
    else:
        write(example("other"), place, overwrite=True)
    assert below(place) == list(example("other"))
    assert os.listdir(tmp_path) == ["net"]


# ------------------------------------------------------------ what the user did to a project


def test_the_same_project_is_left_as_it_is(tmp_path):
    place = tmp_path / "net"
    write(example(), place)
    (place / "build").mkdir()
    (place / "build" / "net-0123456789ab.so").write_bytes(b"built")
    before = place.stat().st_ino
    write(example(), place, overwrite=True)
    assert place.stat().st_ino == before
    assert (place / "build" / "net-0123456789ab.so").read_bytes() == b"built"
    assert os.listdir(tmp_path) == ["net"]


def edit(place):
    path = place / "src" / "net.c"
    path.write_text(path.read_text() + "/* a week of work */")
    return path


def edit_manifest(place):
    path = place / "match_aie.json"
    path.write_text(path.read_text().replace('"net"', '"mine"'))
    return path


def add(name):
    def added(place):
        path = place / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("a week of work")
        return path

    return added


def link(name, target):
    def linked(place):
        path = place / name
        (place.parent / "elsewhere").mkdir()
        (place.parent / "elsewhere" / "thesis.tex").write_text("years of work")
        path.symlink_to(target)
        return path

    return linked


def link_instead(place):
    path = place / "src" / "net.c"
    path.rename(place.parent / "net.c")
    path.symlink_to(place.parent / "net.c")
    return path


@pytest.mark.parametrize("there", ["the same", "other"])
@pytest.mark.parametrize(
    "change",
    [
        edit,
        edit_manifest,
        add("notes.txt"),
        add("build/notes.txt"),
        add("build/measurements/run-1.csv"),
        add("build/net.so.orig"),
        add("figures/plot.svg"),
        link("link", "../elsewhere"),
        link("build", "../elsewhere"),
        link_instead,
    ],
)
def test_nothing_of_the_users_is_lost(tmp_path, change, there):
    place = tmp_path / "net"
    write(example(), place)
    path = change(place)
    before = {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}
    with pytest.raises(ProjectError, match=r"did not write|edited") as caught:
        write(example("net" if there == "the same" else "other"), place, overwrite=True)
    assert str(path) in caught.value.where
    assert {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()} == before
    assert os.path.lexists(path)


def test_a_file_that_appears_at_the_last_moment_is_kept(tmp_path, monkeypatch):
    place = tmp_path / "net"
    write(example(), place)
    real, calls = folders.exchange, []

    def late(fresh, there, old):
        if not calls:
            (there / "late.txt").write_text("x")
        calls.append(there)
        real(fresh, there, old)

    monkeypatch.setattr(folders, "exchange", late)
    with pytest.raises(ProjectError, match="did not write"):
        write(example("other"), place, overwrite=True)
    assert (place / "late.txt").read_text() == "x"
    assert below(place) == sorted([*example(), "late.txt"])
    assert os.listdir(tmp_path) == ["net"]


# ------------------------------------------------------------ killed processes, several processes


def killed_at(place, moment, in_one_step, count):
    """Write another project over `place` in a process that is killed at a change of a folder.

    Args:
        place: of the project.
        moment: number of the change; 0 for none.
        in_one_step: exchange folders in one step.
        count: file that gets the number of changes.
    """
    sources = example("other")
    child = os.fork()
    if child:
        return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    status, changes = 1, []

    def counted(real):
        def call(*args, **more):
            changes.append(real)
            if len(changes) == moment:
                os.kill(os.getpid(), signal.SIGKILL)
            return real(*args, **more)

        return call

    try:
        for name in ("rename", "mkdir", "rmdir", "unlink"):
            setattr(os, name, counted(getattr(os, name)))
        Path.write_bytes = counted(Path.write_bytes)
        one = exchanging._in_one_step if in_one_step else lambda a, b: False
        exchanging._in_one_step = counted(one)
        write(sources, place, overwrite=True)
        count.write_text(str(len(changes)))
        status = 0
    finally:
        os._exit(status)


@pytest.mark.parametrize("in_one_step", [True, False])
def test_a_process_killed_at_any_moment_leaves_the_old_or_the_new(tmp_path, in_one_step):
    count = tmp_path / "count"
    write(example(), tmp_path / "all" / "net")
    assert killed_at(tmp_path / "all" / "net", 0, in_one_step, count) == 0
    moments = int(count.read_text())
    assert moments > 20
    # The first and last changes one by one; between them a file more or less is the same.
    for moment in sorted(
        {*range(1, 5), *range(5, moments - 16, 12), *range(moments - 16, moments + 1)}
    ):
        place = tmp_path / str(moment) / "net"
        write(example(), place)
        assert killed_at(place, moment, in_one_step, count) == -signal.SIGKILL
        names = below(load(place).folder)
        assert names in (list(example()), list(example("other")))
        # Nothing of it blocks or stays once somebody writes again.
        write(example("third"), place, overwrite=True)
        assert os.listdir(place.parent) == ["net"]


def test_whoever_writes_waits_for_whoever_runs(tmp_path):
    place = tmp_path / "net"
    write(example(), place)
    done = []
    writer = threading.Thread(
        target=lambda: done.append(write(example("other"), place, overwrite=True))
    )
    with shared(place):
        writer.start()
        writer.join(0.5)
        assert not done
        assert below(place) == list(example())
    writer.join(60)
    assert done[0].record.network == "other"


def test_a_filesystem_without_locks_is_used_without(tmp_path, monkeypatch):
    def refuse(*_):
        raise OSError(errno.ENOLCK, "No locks available")

    monkeypatch.setattr("match_aie.toolchain.locks.fcntl.flock", refuse)
    write(example(), tmp_path / "net")
    write(example("other"), tmp_path / "net", overwrite=True)
    assert below(tmp_path / "net") == list(example("other"))
    assert os.listdir(tmp_path) == ["net"]


def test_threads_that_write_at_once(tmp_path):
    names = ["net", "other", "third"] * 4
    with ThreadPoolExecutor(6) as pool:
        made = pool.map(lambda n: write(example(n), tmp_path / "net", overwrite=True), names)
        assert {project.record.network for project in made} <= set(names)
    assert load(tmp_path / "net").record.network in names
    assert os.listdir(tmp_path) == ["net"]


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(ProjectError) as caught:
        write(example(), tmp_path / "file" / "net")
    assert "file" in caught.value.where
    assert caught.value.exit_code == 1


@pytest.mark.parametrize(
    ("number", "hint"),
    [(errno.ENOSPC, "free space"), (errno.EBUSY, "mounted"), (errno.EROFS, "may write to")],
)
def test_what_to_try_follows_from_what_the_system_said(tmp_path, monkeypatch, number, hint):
    def refuse(source, target):
        raise OSError(number, os.strerror(number), str(source), None, str(target))

    monkeypatch.setattr(os, "rename", refuse)
    with pytest.raises(ProjectError) as caught:
        write(example(), tmp_path / "net")
    assert caught.value.where == str(tmp_path / "net")  # no name that is gone again
    assert hint in caught.value.hint
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("inside", [".", "src"])
def test_the_folder_that_one_is_in_is_not_replaced(tmp_path, monkeypatch, inside):
    place = tmp_path / "net"
    if inside == ".":
        place.mkdir()
    else:
        write(example(), place)
    monkeypatch.chdir(place / inside)
    with pytest.raises(ProjectError, match="you are in"):
        write(example("other"), place, overwrite=True)
    assert Path.cwd() == place / inside
    write(example(), "within")
    assert load(place / inside / "within").record.network == "net"


def test_a_mounted_disk_is_not_replaced(tmp_path, monkeypatch):
    monkeypatch.setattr(os.path, "ismount", lambda place: Path(place) == tmp_path)
    with pytest.raises(ProjectError, match="mounted") as caught:
        free_place(tmp_path)
    assert "folder in it" in caught.value.hint
    assert free_place(tmp_path / "net") == tmp_path / "net"


def test_a_parent_that_takes_no_folder_is_told_before_anything_is_compiled(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda place, mode: False)
    with pytest.raises(ProjectError, match="takes no new ones") as caught:
        free_place(tmp_path / "deep" / "net")
    assert caught.value.where == str(tmp_path)


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


@pytest.mark.parametrize("length", [236, 255])
def test_a_name_as_long_as_names_may_be(tmp_path, length):
    place = tmp_path / ("n" * length)
    write(example(), place)
    write(example(seed=1), place, overwrite=True)
    assert load(place).record.network == "net"
    assert os.listdir(tmp_path) == [place.name]


@pytest.mark.parametrize("name", ["n" * 256, "~nobody_has_this_name/net", "a\0b"])
def test_what_names_no_folder_is_a_project_error(name):
    with pytest.raises(ProjectError, match="no such folder"):
        write(example(), name)
    with pytest.raises(ProjectError, match="no such folder"):
        load(name)
    with pytest.raises(ProjectError, match="no such folder"):
        new_target("SomeChip", name)


def test_a_working_folder_that_is_gone(tmp_path, monkeypatch):
    (tmp_path / "gone").mkdir()
    monkeypatch.chdir(tmp_path / "gone")
    (tmp_path / "gone").rmdir()
    with pytest.raises(ProjectError, match="no such folder"):
        write(example(), "net")


def test_links_in_a_circle_are_no_folder(tmp_path):
    (tmp_path / "net").symlink_to("net")
    with pytest.raises(ProjectError, match="no such folder"):
        write(example(), tmp_path / "net")
    with pytest.raises(ProjectError, match="no such folder"):
        load(tmp_path / "net")
