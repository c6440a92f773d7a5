"""Kernels whose connections run in a circle: they wait for each other, or are found to hang."""

import pytest
from aie_harness import COMPILERS, run_main

needs_gcc = pytest.mark.skipif("g++" not in COMPILERS, reason="not installed: g++")

#: The first kernel adds what comes back to its input, the second one doubles what it gets.
GRAPH = """
void add(adf::input_async_buffer<int32> &__restrict x,
         adf::input_async_buffer<int32> &__restrict back,
         adf::output_async_buffer<int32> &__restrict y) {
    auto sum = aie::zeros<int32, 16>();
    for (unsigned step = 0; step < 3; ++step) {
        if (step + %d > 0) {
            back.acquire();
            sum = aie::load_v<16>(back.data());
            back.release();
        }
        x.acquire();
        y.acquire();
        aie::store_v(y.data(), aie::add(sum, aie::load_v<16>(x.data())));
        y.release();
        x.release();
    }
    back.acquire();
    back.release();
}
void twice(adf::input_buffer<int32> &__restrict x, adf::output_buffer<int32> &__restrict y) {
    const auto all = aie::load_v<16>(x.data());
    aie::store_v(y.data(), aie::add(all, all));
}
struct Graph : adf::graph {
    adf::input_gmio x = adf::input_gmio::create(64, 1000);
    adf::output_gmio y = adf::output_gmio::create(64, 1000);
    adf::kernel a = adf::kernel::create(add), b = adf::kernel::create(twice);
    Graph() {
        adf::connect(x.out[0], adf::async(a.in[0]));
        adf::connect(b.out[0], adf::async(a.in[1]));
        adf::connect(adf::async(a.out[0]), b.in[0]);
        adf::connect(b.out[0], y.in[0]);
        for (unsigned port = 0; port < 2; ++port) adf::dimensions(a.in[port]) = {16};
        adf::dimensions(a.out[0]) = {16};
        adf::dimensions(b.in[0]) = {16};
        adf::dimensions(b.out[0]) = {16};
        adf::repetition_count(b) = 3;
    }
};
static Graph program;
"""
RUN = """
    int32 in[48], out[48];
    for (int i = 0; i < 48; ++i) in[i] = i / 16 + 1;
    program.init();
    program.x.gm2aie_nb(in, sizeof(in));
    program.y.aie2gm_nb(out, sizeof(out));
    program.run(1);
    program.wait();
    program.end();
    for (int i = 0; i < 48; i += 16) std::printf("%d ", out[i]);"""


@needs_gcc
def test_kernels_wait_for_each_other(tmp_path) -> None:
    done = run_main(tmp_path, RUN, GRAPH % 0)
    assert done.returncode == 0, done.stderr
    assert [int(word) for word in done.stdout.split()] == [2, 8, 22]


@needs_gcc
def test_a_circle_that_nobody_begins_is_found(tmp_path) -> None:
    """The first kernel waits for what it has to send first."""
    done = run_main(tmp_path, RUN, GRAPH % 1)
    assert done.returncode
    assert "everything in a circle of connections waits for something else" in done.stderr
