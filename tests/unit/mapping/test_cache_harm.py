"""Whatever lies in the folder of the cache: nothing outside changes, nothing hangs or fails."""

import errno
import json
import os
import pickle
import resource
import socket
import subprocess
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from match_aie.hardware import mapping_to_json
from match_aie.mapping import (
    CacheWarning,
    Evaluation,
    MappedCost,
    SearchCounts,
    SearchOptions,
    Task,
    open_cache,
    search,
    search_all,
)
from match_aie.mapping.cache import encode
from match_aie.mapping.facts import search_key
from match_aie.mapping.store import ENTRY_LIMIT, FOLDER, HEADER, MARKER, SIZE_LIMIT, Store
from match_aie.workload import Quantized, Tail, Window, conv2d
from tests.tiled_target import Cluster

OPTIONS = SearchOptions()
U8 = Quantized("uint8", 0.5, 0)


def task(channels: int, kilobytes: int = 32) -> Task:
    workload = conv2d(
        U8,
        U8,
        shape=(1, 6, 6, channels),
        weight_shape=(8, 3, 3, channels),
        groups=1,
        window=Window((1, 1), (1, 1), (1, 1, 1, 1)),
        tail=Tail(0, 0, 255),
        scales=8,
    )
    return Task(workload, Cluster(kilobytes))


def key_of(one: Task) -> str:
    key = search_key(one.workload, one.module, OPTIONS)
    assert key is not None
    return key


TASK = task(4)
KEY = key_of(TASK)
RIGHT = search_all([TASK], OPTIONS)[0]
TOO_LARGE = task(64, 1)


def searched(folder: Path) -> SearchCounts:
    """Search with a cache there; the answer must be right whatever the cache says."""
    with open_cache(folder) as cache:
        found, counts = search_all([TASK], OPTIONS, cache=cache)
    assert found == RIGHT
    return counts


def works(folder: Path) -> bool:
    """Whether a second search finds what the first one stored, without a warning."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        searched(folder)
        return searched(folder) == SearchCounts(1, 0, 0)


def contents(folder: Path) -> dict[str, object]:
    """Everything below a folder: names, kinds, bytes."""
    found: dict[str, object] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_symlink():
            found[name] = os.readlink(path)
        else:
            found[name] = path.read_bytes() if path.is_file() else path.stat().st_mode
    return found


@pytest.fixture
def thesis(tmp_path):
    """A folder of the user's with files, beside the cache and as the cache's folder."""
    folder = tmp_path / "thesis"
    (folder / "figures").mkdir(parents=True)
    (folder / "thesis.tex").write_text("years of work")
    (folder / "figures" / "plot.json").write_text("{}")
    return folder


def entry(folder: Path, key: str = KEY) -> Path:
    return folder / FOLDER / f"{key}.json"


def warned(folder: Path, match: str = "") -> SearchCounts:
    """As `searched`, with one warning in all."""
    with pytest.warns(CacheWarning, match=match) as caught:
        counts = searched(folder)
    assert len([w for w in caught if w.category is CacheWarning]) == 1
    assert counts.searches == 1
    return counts


# ------------------------------------------------------------ what others put into the named folder


def text(path: Path) -> None:
    path.write_bytes(b"this is no database" * 100)


def foreign_database(path: Path) -> None:
    import sqlite3

    with sqlite3.connect(path) as connection:
        connection.executescript(
            "CREATE TABLE Cache (another INTEGER); CREATE TABLE Settings (key, value)"
        )
    connection.close()


def nothing(path: Path) -> None:
    path.write_bytes(b"")


@pytest.mark.parametrize("name", ["cache.db", "cache.db-journal", "cache.db-wal"])
@pytest.mark.parametrize("make", [text, foreign_database, nothing])
def test_files_of_others_in_the_named_folder_stay(thesis, name, make):
    make(thesis / name)
    before = contents(thesis)
    assert works(thesis)
    after = contents(thesis)
    assert {name: after.get(name) for name in before} == before
    assert {name.split("/")[0] for name in set(after) - set(before)} == {FOLDER}


@pytest.mark.parametrize("make", [os.mkfifo, lambda path: os.symlink("/dev/zero", path)])
@pytest.mark.parametrize("name", ["cache.db", f"{FOLDER}/{MARKER}", f"{FOLDER}/{KEY}.json"])
def test_pipes_and_devices_are_never_waited_for(thesis, name, make):
    if name != f"{FOLDER}/{MARKER}":
        assert works(thesis)
        entry(thesis).unlink()
    (thesis / name).parent.mkdir(exist_ok=True)
    make(thesis / name)
    before = contents_without_reading(thesis)
    if name == "cache.db":
        assert works(thesis)
        return
    warned(thesis)
    assert contents_without_reading(thesis) == before


def contents_without_reading(folder: Path) -> dict[str, int]:
    return {str(path): path.lstat().st_mode for path in sorted(folder.rglob("*"))}


# ------------------------------------------------------------ what stands in the subfolder's place


def make_file(place: Path) -> None:
    place.write_text("mine")


def make_link(place: Path) -> None:
    place.symlink_to(place.parent / "figures")


def make_lost_link(place: Path) -> None:
    place.symlink_to(place.parent / "nowhere")


def make_folder_of_others(place: Path) -> None:
    place.mkdir()
    (place / f"{KEY}.json").write_text("mine")


def make_other_mark(place: Path) -> None:
    place.mkdir()
    (place / MARKER).write_text("Signature: 8a477f597d28d172789f06886806bc55\n# another program's")
    (place / f"{KEY}.json").write_text("mine")


def make_empty_folder(place: Path) -> None:
    place.mkdir()


def make_socket(place: Path) -> None:
    # Its address may be 108 characters long.
    here = os.getcwd()
    os.chdir(place.parent)
    try:
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(place.name)
    finally:
        os.chdir(here)


PLACES = [
    make_file,
    make_link,
    make_lost_link,
    make_folder_of_others,
    make_other_mark,
    make_empty_folder,
    make_socket,
    os.mkfifo,
]


@pytest.mark.parametrize("make", PLACES)
def test_a_subfolder_that_is_not_ours_is_left_alone(thesis, make):
    make(thesis / FOLDER)
    before = {p: p.lstat().st_mode for p in thesis.rglob("*")}
    kept = (thesis / "figures" / "plot.json").read_bytes()
    warned(thesis, "cannot be used")
    assert {p: p.lstat().st_mode for p in thesis.rglob("*")} == before
    assert (thesis / "figures" / "plot.json").read_bytes() == kept
    mine = thesis / FOLDER / f"{KEY}.json"
    assert not mine.is_file() or mine.read_text() == "mine"


@pytest.mark.parametrize(
    "make", [Path.touch, os.mkfifo, lambda path: os.symlink("/dev/zero", path)]
)
def test_a_named_folder_that_is_none_is_left_alone(tmp_path, make):
    place = tmp_path / "place"
    make(place)
    mode = place.lstat().st_mode
    warned(place, "cannot be used")
    assert place.lstat().st_mode == mode
    assert os.listdir(tmp_path) == ["place"]


@pytest.mark.parametrize("named", ["a\0b", "x" * 5000, "/proc/nowhere/at/all"])
def test_names_that_no_folder_has(named):
    warned(Path(named), "cannot be used")


def test_the_named_folder_may_be_a_link(tmp_path, thesis):
    link = tmp_path / "link"
    link.symlink_to(thesis)
    assert works(link)
    assert link.is_symlink()
    assert entry(thesis).is_file()


def test_a_home_that_nobody_has(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MATCH_AIE_CACHE", "~nobody_of_that_name/x")
    with pytest.warns(CacheWarning, match="no cache"), open_cache(True) as cache:
        assert cache is None
    assert os.listdir(tmp_path) == []


# ------------------------------------------------------------ damaged and hostile entries


@pytest.mark.parametrize(
    "data",
    [
        b"",
        HEADER,
        HEADER + b"0" * 64 + b"\n{}",
        b"\xff" * 100,
        b"match_aie search 1",
        pickle.dumps({"found": []}),
        b"\0" * (ENTRY_LIMIT + 1),
    ],
    ids=["empty", "cut", "checksum", "no text", "short", "pickle", "large"],
)
def test_a_damaged_entry_is_searched_again(tmp_path, data):
    assert works(tmp_path)
    place = entry(tmp_path)
    ours = data.startswith(HEADER) or not data
    place.write_bytes(data)
    # Without our own beginning it is not ours, and stays.
    warned(tmp_path, "entry is damaged")
    assert (place.read_bytes() == data) is not ours
    assert not ours or works(tmp_path)


def test_a_cut_or_changed_entry_is_searched_again(tmp_path):
    assert works(tmp_path)
    data = entry(tmp_path).read_bytes()
    for wrong in (data[:-1], data[:200], data.replace(b'"found"', b'"bound"'), data + b" "):
        entry(tmp_path).write_bytes(wrong)
        warned(tmp_path, "damaged")
    assert works(tmp_path)


def test_a_sparse_giant_is_not_read(tmp_path):
    assert works(tmp_path)
    with entry(tmp_path).open("r+b") as file:
        file.truncate(1 << 40)
    warned(tmp_path, "at most")


class Bomb:
    """Leaves a file behind where anyone unpickles it."""

    def __init__(self, path: Path):
        self.path = path

    def __reduce__(self):
        return (Path.touch, (self.path,))


def test_nothing_is_ever_unpickled(tmp_path):
    assert works(tmp_path / "cache")
    plant(tmp_path / "cache", pickle.dumps(Bomb(tmp_path / "bang")))
    warned(tmp_path / "cache", "damaged")
    assert os.listdir(tmp_path) == ["cache"]


def plant(folder: Path, body: bytes, key: str = KEY) -> None:
    """An entry with all that is formal about it right."""
    store = Store(folder)
    store.put(key, body)
    store.close()


MISSING = object()


def answers(**changes: object) -> bytes:
    """The right answer as text, with members of its mappings, or of its rows, replaced."""
    document = json.loads(encode(RIGHT[0]))
    for row in document["found"]:
        for name, value in changes.items():
            (row if name in row else row["mapping"])[name] = value
    return json.dumps(document).encode()


def infeasible(**changes: object) -> bytes:
    fields = {
        "resource": "L1",
        "demand": 2,
        "bound": 1,
        "unit": "bytes",
        "levers": [],
        "breakdown": [],
    }
    return json.dumps({"infeasible": fields | changes}).encode()


BEST = RIGHT[0][0].mapping
COST = json.loads(encode(RIGHT[0]))["found"][0]["cost"]
HOSTILE = {
    "no json": b"{",
    "no object": b"[]",
    "a number": b"3",
    "null": b"null",
    "a string": b'"found infeasible"',
    "nothing": b"{}",
    "no rows": b'{"found": []}',
    "rows of numbers": b'{"found": [3]}',
    "a mapping that is a number": b'{"found": [{"mapping": 3}]}',
    "paths": b'{"found": ["/etc/passwd", "../../thesis.tex"]}',
    "deep": b"[" * 100_000,
    "a long number": b'{"found": ' + b"9" * 10_000 + b"}",
    "no number": answers(bound="nan"),
    "infinite": answers(bound="0x1p99999"),
    "bytes of text": answers(nbytes="many"),
    "kernel": answers(kernel=99),
    "huge kernel": answers(kernel=1e999),
    "cuts elsewhere": answers(cuts=[["x", "L7", 0]]),
    "no cuts": answers(cuts=[]),
    "no loops": answers(temporal=[], kernel=0, cuts=[]),
    "half of the loops": answers(temporal=mapping_to_json(BEST)["temporal"][1:], kernel=0),
    "twice the work": answers(temporal=[["K", 2, 8], *mapping_to_json(BEST)["temporal"]]),
    "a strange dimension": answers(temporal=[*mapping_to_json(BEST)["temporal"], ["Z", 4, 1]]),
    "huge loops": answers(temporal=[["K", 10**18, 1]], kernel=0),
    "many loops": answers(temporal=[["K", 1, 8]] * 9000 + mapping_to_json(BEST)["temporal"]),
    "wide unrolling": answers(spatial=[["K", 4096, 1]]),
    "no unrolling": answers(spatial=[["K", 3, 1]]),
    "cheap": answers(cost=COST | {"cycles": "0x1p0", "parts": []}),
    "negative": answers(cost=COST | {"cycles": "-0x1p0", "parts": []}),
    "no cycles": answers(cost=COST | {"cycles": "nan", "parts": []}),
    "overflowing": answers(cost=COST | {"cycles": "0x1p999999", "parts": []}),
    "does not fit": infeasible(),
    "an escape": infeasible(resource="\x1b[2J"),
    "an infinite demand": infeasible(demand=1e999),
    "levers of numbers": infeasible(levers=[1]),
    "strange members": infeasible(command="rm -r /"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_entry_is_searched_again(tmp_path, thesis, name):
    before = contents(thesis)
    searched(tmp_path / "cache")
    plant(tmp_path / "cache", HOSTILE[name])
    warned(tmp_path / "cache", "an entry")
    assert contents(thesis) == before
    assert works(tmp_path / "cache")


def test_a_mapping_of_another_layer_is_searched_again(tmp_path):
    other = task(64)
    found = search_all([other], OPTIONS)[0][0]
    plant(tmp_path, encode(found))
    warned(tmp_path, "does not fit")


def test_what_fits_no_memory_is_believed_only_if_it_is_so(tmp_path):
    right = search_all([TOO_LARGE], OPTIONS)[0]
    for claimed, hits in ((right[0], 1), (replace(right[0], demand=right[0].demand + 1), 0)):
        plant(tmp_path, encode(claimed), key_of(TOO_LARGE))
        with warnings.catch_warnings(), open_cache(tmp_path) as cache:
            warnings.simplefilter("ignore")
            found, counts = search_all([TOO_LARGE], OPTIONS, cache=cache)
        assert (found, counts.hits) == (right, hits)


def test_a_valid_mapping_is_used_best_or_not(tmp_path):
    """What the checker proves may be used: the code from it is right, and its cost is its own."""
    slower = search(TASK.workload, Cluster(cores=4), OPTIONS)[0].mapping
    cost = Evaluation(TASK.workload, TASK.module, TASK.module.model, slower).cost()
    claimed = [MappedCost(slower, cost)]
    assert slower != RIGHT[0][0].mapping
    plant(tmp_path, encode(claimed))
    with open_cache(tmp_path) as cache:
        assert search_all([TASK], OPTIONS, cache=cache) == ([claimed], SearchCounts(1, 0, 0))


def test_a_link_among_the_entries_is_neither_read_nor_replaced(tmp_path, thesis):
    cache = tmp_path / "cache"
    assert works(cache)
    secret = thesis / "secret.json"
    entry(cache).rename(secret)
    entry(cache).symlink_to(secret)
    before = contents(thesis)
    warned(cache, "damaged")
    assert contents(thesis) == before
    assert entry(cache).is_symlink()


def test_a_folder_in_place_of_an_entry(tmp_path):
    assert works(tmp_path)
    entry(tmp_path).unlink()
    entry(tmp_path).mkdir()
    (entry(tmp_path) / "mine").write_text("x")
    warned(tmp_path, "damaged")
    assert (entry(tmp_path) / "mine").read_text() == "x"


# ------------------------------------------------------------ room, permissions, other processes


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EROFS, errno.EDQUOT, errno.EIO])
def test_a_disk_that_takes_nothing(tmp_path, monkeypatch, code):
    searched(tmp_path)
    data = entry(tmp_path).read_bytes()
    keys = [KEY, key_of(task(5))]

    class Full:
        """A file that takes some bytes and no more."""

        def __init__(self, opened: int, mode: str) -> None:
            self.file = open(opened, mode)

        def __enter__(self) -> "Full":
            return self

        def __exit__(self, *_: object) -> None:
            self.file.close()

        def read(self, limit: int) -> bytes:
            return self.file.read(limit)

        def write(self, data: bytes) -> None:
            self.file.write(data[:10])
            raise OSError(code, os.strerror(code))

    monkeypatch.setattr("match_aie.mapping.store.open", Full, raising=False)
    with (
        pytest.warns(CacheWarning, match="cannot be stored") as caught,
        open_cache(tmp_path) as cache,
    ):
        _, counts = search_all([TASK, task(5), task(3)], OPTIONS, cache=cache)
    assert len(caught) == 1
    assert counts == SearchCounts(1, 2, 2)
    assert sorted(os.listdir(tmp_path / FOLDER)) == sorted([MARKER, f"{keys[0]}.json"])
    assert entry(tmp_path).read_bytes() == data
    warned(tmp_path / "new", "cannot be used")
    assert os.listdir(tmp_path / "new") == []


def limited() -> None:
    """No file may grow beyond 100 bytes: what a full disk does, without one."""
    import signal

    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))


def test_a_write_that_ends_half_way_leaves_nothing(tmp_path):
    Store(tmp_path).close()
    script = (
        "import sys, warnings; warnings.simplefilter('ignore'); from pathlib import Path\n"
        "from match_aie.mapping.store import Store\n"
        "try: Store(Path(sys.argv[1])).put('0' * 64, b'x' * 5000)\n"
        "except OSError as error: sys.exit(error.errno)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script, str(tmp_path)], preexec_fn=limited, check=False
    )
    assert done.returncode == errno.EFBIG
    assert os.listdir(tmp_path / FOLDER) == [MARKER]


def test_a_folder_that_cannot_be_written_is_read(tmp_path, monkeypatch):
    searched(tmp_path)
    before = contents(tmp_path)
    real = os.open

    def refuse(path: object, flags: int, *rest: int, **options: int) -> int:
        if flags & os.O_CREAT:
            raise PermissionError(errno.EACCES, "Permission denied")
        return real(path, flags, *rest, **options)

    monkeypatch.setattr("match_aie.mapping.store.os.open", refuse)
    assert searched(tmp_path) == SearchCounts(1, 0, 0)
    with pytest.warns(CacheWarning, match="cannot be stored"), open_cache(tmp_path) as cache:
        search_all([task(3), task(5)], OPTIONS, cache=cache)
    assert contents(tmp_path) == before


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read and write anywhere")
@pytest.mark.parametrize("mode", [0o000, 0o500])
def test_permissions(tmp_path, mode):
    folder = tmp_path / "cache"
    folder.mkdir(mode=mode)
    warned(folder, "cannot be used")


def test_the_oldest_of_ours_make_room(tmp_path):
    store, keys = Store(tmp_path), [f"{i:064x}" for i in range(8)]
    for age, key in enumerate(keys):
        store.put(key, b"x" * 3000)
        os.utime(entry(tmp_path, key), (1000 + age, 1000 + age))
    foreign = {
        name: tmp_path / FOLDER / name for name in ("thesis.tex", f"{'f' * 64}.json", "a.json")
    }
    for path in foreign.values():
        path.write_bytes(b"y" * 9000)
        os.utime(path, (1, 1))
    (tmp_path / FOLDER / f"{'e' * 64}.json").symlink_to("thesis.tex")
    store.trim(SIZE_LIMIT)
    assert all(entry(tmp_path, key).is_file() for key in keys)
    store.trim(6 * 4096)
    store.close()
    gone = [key for key in keys if not entry(tmp_path, key).exists()]
    assert gone == keys[: len(gone)]
    assert 2 <= len(gone) < 8
    assert all(path.read_bytes() == b"y" * 9000 for path in foreign.values())


def test_threads_that_begin_at_once_share_one_folder(tmp_path):
    def begin(_: int) -> bytes | None:
        store = Store(tmp_path / "new")
        for _ in range(20):
            store.put(KEY, b"the same")
        found = store.get(KEY)
        store.close()
        return found

    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(begin, range(16))) == [b"the same"] * 16
    assert sorted(os.listdir(tmp_path / "new")) == [FOLDER]
    assert sorted(os.listdir(tmp_path / "new" / FOLDER)) == sorted([MARKER, f"{KEY}.json"])


def test_a_process_that_was_killed_leaves_nothing_that_blocks(tmp_path):
    Store(tmp_path).close()
    partial = tmp_path / FOLDER / f".{'0' * 16}.partial"
    partial.write_bytes(HEADER)
    (tmp_path / f".{FOLDER}.{'0' * 16}").mkdir()
    assert works(tmp_path)
    store = Store(tmp_path)
    store.trim(0)
    store.close()
    assert not partial.exists()
