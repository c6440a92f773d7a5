"""Networks whose layers are divided over cores: their threads come, work and go."""

import os
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import match_aie as match
from match_aie.demo import digits, digits_model
from match_aie.targets.cpu import CPU
from match_aie.targets.cpu.machine import PORTABLE, native

pytestmark = [
    pytest.mark.skipif(native().name == PORTABLE, reason="this machine has no vectors"),
    pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="threads are counted in /proc"),
]
CORES = 3


@pytest.fixture(scope="module")
def projects(tmp_path_factory):
    """The same network for one core and for several."""
    return {
        cores: match.compile(digits_model(), CPU(cores=cores)).write(
            tmp_path_factory.mktemp("cores") / f"on{cores}"
        )
        for cores in (1, CORES)
    }


def outputs(project, image):
    return {name: value.copy() for name, value in project.run(image).outputs.items()}


def test_results_are_those_of_one_core(projects):
    for image in digits().images[:3]:
        result = projects[CORES].run(image[None])
        assert result.matches_reference
        for name, value in outputs(projects[1], image[None]).items():
            np.testing.assert_array_equal(value, result.outputs[name])


def test_the_header_is_there_for_more_than_one_core_only(projects):
    for cores, project in projects.items():
        sources = [p.read_text() for p in (project.folder / "src").glob("*.c")]
        assert any("ma_divide(" in text for text in sources) == (cores > 1)
        assert (project.folder / "include" / "ma_cores.h").is_file() == (cores > 1)


def filled(project, image):
    runner = project.runner()
    for array in runner.inputs.values():
        array[...] = image
    return runner


def answer(runner):
    runner()
    return [value.copy() for value in runner.outputs.values()]


def test_two_threads_run_the_network_at_a_time(projects):
    """One of them has the pool, the other one does all parts itself."""
    runners = [filled(projects[CORES], image) for image in digits().images[:2]]
    expected = [answer(runner) for runner in runners]
    wrong = []

    def many(runner, right):
        for _ in range(200):
            found = answer(runner)
            if not all(np.array_equal(a, b) for a, b in zip(found, right, strict=True)):
                wrong.append(found)

    threads = [
        threading.Thread(target=many, args=pair) for pair in zip(runners, expected, strict=True)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_the_child_of_a_fork_starts_threads_of_its_own(projects):
    runner = filled(projects[CORES], digits().images[0])
    expected = answer(runner)
    child = os.fork()
    if child == 0:  # no exceptions here: pytest must not run on in two processes
        same = all(np.array_equal(a, b) for a, b in zip(answer(runner), expected, strict=True))
        os._exit(0 if same and len(os.listdir("/proc/self/task")) == CORES else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert all(np.array_equal(a, b) for a, b in zip(answer(runner), expected, strict=True))


UNLOADING = """
import _ctypes, ctypes, os, sys, time
def threads():
    return len(os.listdir("/proc/self/task"))
def ended():
    # Who joins a thread may go on a little before the system forgets it.
    end = time.monotonic() + 10
    while threads() > before and time.monotonic() < end:
        time.sleep(0.001)
    return threads() == before
path, symbol, arena, inputs, outputs = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:])
block = (ctypes.c_uint8 * (arena + inputs + outputs + 256))()
at = -ctypes.addressof(block) % 64 + ctypes.addressof(block)
places = [at, at + -(-arena // 64) * 64, at + -(-arena // 64) * 64 + -(-inputs // 64) * 64]
before = threads()
for _ in range(20):
    library = ctypes.CDLL(path)
    run = getattr(library, symbol)
    pointers = [(ctypes.c_void_p * 1)(place) for place in places[1:]]
    assert run(ctypes.c_void_p(places[0]), *pointers) == 0
    assert threads() > before, threads()
    _ctypes.dlclose(library._handle)
    del library, run
    assert path not in open("/proc/self/maps").read(), "still loaded"
    assert ended(), threads()
print("unloaded")
"""


def test_threads_end_when_the_library_is_unloaded(projects):
    project = projects[CORES]
    path = project.build().product.path
    given = [str(path), "digits_run_in", "8192", "4096", "4096"]
    done = subprocess.run(
        [sys.executable, "-c", UNLOADING, *given], capture_output=True, text=True, check=False
    )
    assert done.stdout == "unloaded\n", done.stderr[-2000:]


RACING = """
#include <pthread.h>
#include <stdlib.h>
#include "digits.h"
static _Alignas(64) uint8_t arenas[2][DIGITS_ARENA_BYTES + 1], in[DIGITS_INPUT_0_BYTES];
static _Alignas(64) uint8_t out[2][DIGITS_OUTPUT_0_BYTES];
static void *many(void *place)
{
    const int at = *(int *)place;
    const void *inputs[] = {in};
    void *outputs[] = {out[at]};
    for (int i = 0; i < 50; ++i) {
        if (digits_run_in(arenas[at], inputs, outputs)) {
            exit(2);
        }
    }
    return NULL;
}
int main(void)
{
    int places[2] = {0, 1};
    pthread_t other;
    pthread_create(&other, NULL, many, &places[1]);
    many(&places[0]);
    pthread_join(other, NULL);
    return 0;
}
"""


@pytest.mark.slow
def test_no_data_race(projects, tmp_path):
    """Of a whole network, run by two threads at a time."""
    project = projects[CORES]
    (tmp_path / "racing.c").write_text(RACING)
    flags = CPU(cores=CORES).build_profile().flags
    words = ["cc", "-std=c11", *flags, "-O1", "-g", "-fsanitize=thread", "-Iinclude"]
    words += ["-ffp-contract=off", "-fno-strict-aliasing", "src/digits.c", "src/digits_weights.S"]
    program = str(tmp_path / "racing")
    subprocess.run(
        [*words, str(tmp_path / "racing.c"), "-o", program, "-lm"], cwd=project.folder, check=True
    )
    done = subprocess.run([program], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[:3000]
