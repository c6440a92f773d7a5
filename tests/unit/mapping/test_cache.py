"""Search results on disk: keys, damage, several processes, and what a warm cache saves."""

import json
import pickle
import warnings
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import replace
from multiprocessing import get_context

import pytest

import match_aie as match
from match_aie.cost_models.pulp import PulpCluster
from match_aie.demo import digits_model
from match_aie.errors import Infeasible, OptionError
from match_aie.hardware import Memory, Priced
from match_aie.mapping import (
    SearchCounts,
    SearchOptions,
    Task,
    cache_folder,
    open_cache,
    search,
    search_all,
)
from match_aie.mapping.cache import decode, encode
from match_aie.mapping.facts import search_key
from match_aie.mapping.hidden import ScaleRead
from match_aie.workload import Quantized, Tail, Window, Workload, conv2d
from tests.shared import model_file
from tests.tiled_target import Chip, Cluster

OPTIONS = SearchOptions()
U8 = Quantized("uint8", 0.5, 0)


def convolution(channels: int = 4, size: int = 8, scale: float = 0.5) -> Workload:
    return conv2d(
        replace(U8, scale=scale),
        U8,
        shape=(1, size, size, channels),
        weight_shape=(8, 3, 3, channels),
        groups=1,
        window=Window((1, 1), (1, 1), (1, 1, 1, 1)),
        tail=Tail(0, 0, 255),
        scales=8,
    )


TASKS = [Task(convolution(channels), Cluster()) for channels in (1, 3, 4, 4)]
TOO_LARGE = Task(convolution(64, 8), Cluster(kilobytes=1))


def test_a_key_is_made_of_everything_that_matters():
    class Other(Cluster, Priced):
        version = "2"

    base = search_key(convolution(), Cluster(), OPTIONS)
    assert base == search_key(convolution(), Cluster(), SearchOptions())
    slower = Cluster()
    slower.memories = (slower.memories[0], replace(slower.memories[1], bytes_per_cycle=4.0))
    faster = Cluster()
    faster.model = replace(faster.model, call_overhead=1.0)
    keys = {
        base,
        search_key(convolution(5), Cluster(), OPTIONS),
        search_key(convolution(), Cluster(kilobytes=16), OPTIONS),
        search_key(convolution(), Cluster(cores=4), OPTIONS),
        search_key(convolution(), slower, OPTIONS),
        search_key(convolution(), faster, OPTIONS),
        search_key(convolution(), Other(), OPTIONS),
        search_key(convolution(), Cluster(), SearchOptions(engine="exact")),
        search_key(convolution(), Cluster(), SearchOptions(runners_up=0)),
    }
    assert None not in keys
    assert len(keys) == 9


def test_a_module_that_hides_what_it_holds_is_searched_every_time(tmp_path):
    hidden = Cluster()
    hidden.secret = lambda: 3
    assert search_key(convolution(), hidden, OPTIONS) is None
    with open_cache(tmp_path) as cache:
        for _ in range(2):
            _, counts = search_all([Task(convolution(), hidden)], OPTIONS, cache=cache)
            assert counts == SearchCounts(0, 0, 1)


@pytest.mark.parametrize("task", [TASKS[0], TOO_LARGE], ids=["mappings", "infeasible"])
def test_answers_survive_the_way_to_disk(task):
    found = search(task.workload, task.module, OPTIONS)
    assert isinstance(found, Infeasible) is (task is TOO_LARGE)
    assert decode(encode(found)) == found


def test_a_second_search_finds_everything(tmp_path):
    cold, warm = (SearchCounts(0, 3, 3), SearchCounts(3, 0, 0))
    with open_cache(tmp_path) as cache:
        first, counts = search_all(TASKS, OPTIONS, cache=cache)
    assert counts == cold
    with open_cache(tmp_path) as cache:
        second, counts = search_all(TASKS, OPTIONS, cache=cache)
    assert counts == warm
    assert first == second == [search(t.workload, t.module, OPTIONS) for t in TASKS]
    assert search_all(TASKS, OPTIONS)[1] == SearchCounts(0, 0, 3)


def test_layers_that_differ_in_scales_are_searched_once(tmp_path):
    module = Cluster()
    tasks = [Task(convolution(scale=scale), module) for scale in (0.5, 0.25, 0.125)]
    tasks.append(Task(convolution(3), module))
    with open_cache(tmp_path) as cache:
        found, counts = search_all(tasks, OPTIONS, cache=cache)
    assert counts == SearchCounts(0, 2, 2)
    with open_cache(tmp_path) as cache:
        assert search_all(tasks, OPTIONS, cache=cache) == (found, SearchCounts(2, 0, 0))
    assert found == [search(task.workload, task.module, OPTIONS) for task in tasks]
    with ProcessPoolExecutor(1, get_context("spawn")) as executor:
        assert search_all(tasks, OPTIONS, executor)[0] == found


class ByScale(Cluster):
    """A module that does what none should: its cost depends on a scale."""

    def cost_model(self, workload):
        slower = 1000 * workload.operand("x").scale
        return replace(super().cost_model(workload), call_overhead=slower)


def test_a_module_that_reads_scales_gets_every_layer_searched():
    module = ByScale()
    tasks = [Task(convolution(scale=scale), module) for scale in (0.5, 0.25)]
    found, counts = search_all(tasks, OPTIONS)
    assert counts == SearchCounts(0, 0, 2)
    assert found == [search(task.workload, module, OPTIONS) for task in tasks]
    assert found[0][0].cost != found[1][0].cost
    with ThreadPoolExecutor(1) as executor:
        assert search_all(tasks, OPTIONS, executor) == (found, counts)
    assert isinstance(pickle.loads(pickle.dumps(ScaleRead("a scale"))), ScaleRead)


def test_where_the_cache_is(monkeypatch, tmp_path):
    assert cache_folder(False) is None
    assert cache_folder(tmp_path) == tmp_path
    monkeypatch.setenv("MATCH_AIE_CACHE", str(tmp_path / "named"))
    assert cache_folder(True) == tmp_path / "named"
    monkeypatch.setenv("MATCH_AIE_CACHE", "OFF")
    assert cache_folder(True) is None
    monkeypatch.delenv("MATCH_AIE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    folder = cache_folder(True)
    assert folder is not None
    assert "match_aie" in folder.parts


def fill(folder: str, channels: int) -> str:
    """What another process does: search and store, all over again."""
    tasks = [Task(convolution(c), Cluster()) for c in (channels, 1, 2, 3)]
    with warnings.catch_warnings(), open_cache(folder) as cache:
        warnings.simplefilter("error")
        found, counts = search_all(tasks, OPTIONS, cache=cache)
    return json.dumps([len(found), counts.hits + counts.misses])


@pytest.mark.slow
def test_several_processes_share_a_cache(tmp_path):
    with ProcessPoolExecutor(2, get_context("spawn")) as pool:
        rows = list(pool.map(fill, [str(tmp_path)] * 6, range(4, 10)))
    assert rows == ["[4, 4]"] * 6
    tasks = [Task(convolution(c), Cluster()) for c in range(1, 10)]
    with open_cache(tmp_path) as cache:
        assert search_all(tasks, OPTIONS, cache=cache)[1] == SearchCounts(9, 0, 0)


@pytest.mark.parametrize("name", ["digits", "resnet8"])
def test_a_warm_cache_makes_a_second_compilation_search_nothing(name, tmp_path):
    model = digits_model() if name == "digits" else model_file("resnet8_u8.onnx")
    cold, warm = (match.compile(model, Chip(), cache=tmp_path) for _ in range(2))
    assert cold.searches.hits == 0
    assert cold.searches.searches == cold.searches.misses > 0
    assert warm.searches == SearchCounts(cold.searches.misses, 0, 0)
    assert warm.sources() == cold.sources()
    assert match.compile(model, Chip(), cache=False).searches.searches == cold.searches.searches


def pools() -> list[Executor]:
    return [ThreadPoolExecutor(2), ProcessPoolExecutor(1, get_context("spawn"))]


@pytest.mark.parametrize("make", [0, 1], ids=["threads", "processes"])
def test_an_executor_searches_the_same(make, tmp_path):
    tasks = [*TASKS, TOO_LARGE]
    with pools()[make] as executor, open_cache(tmp_path) as cache:
        found, counts = search_all(tasks, OPTIONS, executor, cache)
        again, warm = search_all(tasks, OPTIONS, executor, cache)
    assert found == again == search_all(tasks, OPTIONS)[0]
    assert (counts, warm) == (SearchCounts(0, 4, 4), SearchCounts(4, 0, 0))


@pytest.mark.slow
def test_a_dask_cluster_searches_the_same():
    distributed = pytest.importorskip("distributed")
    with (
        distributed.LocalCluster(
            n_workers=1, threads_per_worker=1, processes=True, host="127.0.0.1",
            dashboard_address=None,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):  # fmt: skip
        compiled = match.compile(
            digits_model(), Chip(), executor=client.get_executor(), cache=False
        )
    here = match.compile(digits_model(), Chip(), cache=False)
    assert compiled.searches == here.searches
    assert compiled.sources() == here.sources()


def test_a_class_that_cannot_travel_is_said_so():
    class Local(Cluster):
        pass

    with (
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
        pytest.raises(OptionError, match="cannot be sent"),
    ):
        search_all([Task(convolution(), Local())], OPTIONS, pool)


def test_a_module_with_one_memory_is_cached_too(tmp_path):
    class One(Cluster):
        def __init__(self):
            super().__init__()
            self.model = PulpCluster()
            self.memories = (Memory("L2", None, 8.0),)

    for hits in (0, 1):
        with open_cache(tmp_path) as cache:
            _, counts = search_all([Task(convolution(), One())], OPTIONS, cache=cache)
        assert counts.hits == hits
