"""The emulation itself: its table of shapes, its arithmetic, and what it refuses."""

import ctypes
import subprocess

import numpy as np
import pytest
from aie_harness import COMPILERS, FASTEST, ROUNDING, SATURATION, compile_cpp, run_main, unoptimised

from match_aie.targets.aie_ml.emulation import include_folder, tilings_header
from match_aie.targets.aie_ml.kernels.numeric import (
    ROUNDING_MODES,
    round_shift,
    saturate,
    to_bfloat16,
)

needs_gcc = pytest.mark.skipif("g++" not in COMPILERS, reason="not installed: g++")


def test_table_of_shapes_is_the_facts() -> None:
    written = include_folder() / "aie_api" / "emulation" / "tilings.hpp"
    assert written.read_text() == tilings_header()


ARITHMETIC = """
#include <aie_api/aie.hpp>
extern "C" void shift(const std::int64_t *values, int count, int by, int rounding, int saturation,
                      std::int8_t *narrow, std::uint8_t *unsigned_narrow, std::int16_t *wide) {
    aie_emulation::Core core;
    aie_emulation::Running running(core);
    aie::set_rounding(static_cast<aie::rounding_mode>(rounding));
    aie::set_saturation(static_cast<aie::saturation_mode>(saturation));
    for (int i = 0; i < count; ++i) {
        aie::accum<acc64, 16> sum;
        sum.lane(0) = values[i];
        narrow[i] = sum.to_vector<int8>(by)[0];
        unsigned_narrow[i] = sum.to_vector<uint8>(by)[0];
        wide[i] = sum.to_vector<int16>(by)[0];
    }
}
extern "C" int wrapped() {
    aie_emulation::Core core;
    aie_emulation::Running running(core);
    const auto most = aie::broadcast<int32, 32>(2147483647);
    aie::mmul<4, 8, 8, int8, int8> sums((aie::accum<acc32, 32>(most)));
    sums.mac(aie::broadcast<int8, 32>(1), aie::broadcast<int8, 64>(1));
    return sums.to_vector<int32>(0)[5];
}
extern "C" void brain(const float *values, int count, int rounding, std::uint16_t *to) {
    aie_emulation::Core core;
    aie_emulation::Running running(core);
    aie::set_rounding(static_cast<aie::rounding_mode>(rounding));
    for (int i = 0; i < count; ++i) {
        aie::accum<accfloat, 16> sum;
        sum.lane(0) = values[i];
        to[i] = sum.to_vector<bfloat16>()[0].bits;
    }
}
"""


@pytest.fixture(scope="module")
def arithmetic(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arithmetic")
    return ctypes.CDLL(str(compile_cpp(ARITHMETIC, folder, "arithmetic")))


def interesting_sums(rng):
    near = np.arange(-40, 41)
    ends = [sign * (1 << bits) + d for bits in (7, 8, 15, 31, 40) for sign in (-1, 1) for d in near]
    return np.concatenate([near, ends, rng.integers(-(1 << 45), 1 << 45, 500)]).astype(np.int64)


@needs_gcc
@pytest.mark.parametrize("rounding", ROUNDING_MODES)
@pytest.mark.parametrize("by", [0, 1, 3, 12])
def test_shift_round_saturate(arithmetic, rounding, by) -> None:
    sums = interesting_sums(np.random.default_rng(by))
    for name, saturation in SATURATION.items():
        stored = [np.zeros(len(sums), dtype) for dtype in ("int8", "uint8", "int16")]
        arithmetic.shift(
            sums.ctypes.data_as(ctypes.c_void_p),
            len(sums),
            by,
            ROUNDING[rounding],
            saturation,
            *(array.ctypes.data_as(ctypes.c_void_p) for array in stored),
        )
        for array in stored:
            wanted = saturate(round_shift(sums, by, rounding), array.dtype.name, name)
            np.testing.assert_array_equal(array, wanted)


def test_halves_by_hand() -> None:
    """2.5, -2.5, 3.5, -3.5 and -2.25 in every mode, worked out on paper."""
    quarters = np.array([10, -10, 14, -14, -9])
    wanted = {
        "floor": [2, -3, 3, -4, -3],
        "ceil": [3, -2, 4, -3, -2],
        "positive_inf": [3, -2, 4, -3, -2],
        "negative_inf": [2, -3, 3, -4, -2],
        "symmetric_inf": [3, -3, 4, -4, -2],
        "symmetric_zero": [2, -2, 3, -3, -2],
        "conv_even": [2, -2, 4, -4, -2],
        "conv_odd": [3, -3, 3, -3, -2],
        "symmetric_floor": [2, -2, 3, -3, -2],
        "symmetric_ceil": [3, -3, 4, -4, -3],
    }
    for mode in ROUNDING_MODES:
        assert round_shift(quarters, 2, mode).tolist() == wanted[mode], mode


@needs_gcc
@pytest.mark.parametrize("rounding", ROUNDING_MODES)
def test_bfloat16(arithmetic, rounding) -> None:
    rng = np.random.default_rng(1)
    bits = rng.integers(0, 1 << 32, 2000, dtype=np.uint64).astype(np.uint32)
    bits[:500] = (bits[:500] & 0xFFFF0000) | 0x8000
    values = bits.view(np.float32)
    stored = np.zeros(len(values), np.uint16)
    pointers = [array.ctypes.data_as(ctypes.c_void_p) for array in (values, stored)]
    arithmetic.brain(pointers[0], len(values), ROUNDING[rounding], pointers[1])
    np.testing.assert_array_equal(stored, to_bfloat16(values, rounding))


REFUSED = {
    "(void)aie::load_v<32>(memory + 80);": (
        "out-of-bounds load of 32 bytes at byte 80 of weights (96 bytes)"
    ),
    "(void)aie::load_v<32>(memory + 16);": (
        "misaligned load of 32 bytes at byte 16 of weights (96 bytes), wants a multiple of 32"
    ),
    "(void)aie::load_v<64>(memory + 100);": "the address is in no buffer of this tile",
    "aie::store_v(memory + 96, aie::zeros<int8, 16>());": "the address is in no buffer",
    "aie::store_v(memory + 128, aie::zeros<int8, 32>());": "store into constant data",
    "(void)aie::load_unaligned_v<16>(memory + 85);": "out-of-bounds load of 16 bytes at byte 85",
    "(void)readincr_v<16>(&cascade);": "reads 64 bytes from queue, which holds 0",
    "(void)aie::zeros<int8, 32>().get(32);": "no such lane",
    "aie::accum<acc32, 16> a; a.from_vector(aie::zeros<int32, 16>(), 2);": (
        "no shift at the same width"
    ),
}


@pytest.fixture(scope="module")
def refusing(tmp_path_factory):
    """A program that does what its argument says, each case on a line of its own."""
    lines = "\n".join(f"case {n}: {{ {body} break; }}" for n, body in enumerate(REFUSED))
    text = f"""#include <adf.h>
#include <aie_api/aie.hpp>
static int8 *const memory = static_cast<int8 *>(std::aligned_alloc(64, 256));
int main(int, char **words) {{
    aie_emulation::Core core;
    const aie_emulation::Mapped mapped(core, memory, 96, "weights");
    const aie_emulation::Mapped fixed(core, const_cast<const int8 *>(memory + 128), 64, "bias");
    const aie_emulation::Running running(core);
    aie_emulation::Queue queue;
    input_cascade<acc32> cascade{{&queue}};
    switch (std::atoi(words[1])) {{
{lines}
    }}
    return 0;
}}
"""
    folder = tmp_path_factory.mktemp("refusing")
    return compile_cpp(text, folder, "program", FASTEST, extra=unoptimised())


@needs_gcc
@pytest.mark.parametrize("body", REFUSED)
def test_stops_with_the_place(refusing, body) -> None:
    case = list(REFUSED).index(body)
    command = (str(refusing), str(case))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert REFUSED[body] in done.stderr
    assert f"program.cpp:{12 + case}: in kernel" in done.stderr


@needs_gcc
def test_int32_sums_wrap(arithmetic) -> None:
    assert arithmetic.wrapped() == -(1 << 31) + 7


#: What the vendor's headers refuse to compile, and what the emulation says of it.
NO_SUCH = {
    "aie::mmul<5, 8, 8, int8, int8> sums; (void)sums;": "no such mmul shape",
    "aie::mmul<4, 8, 4, int16, int8, acc64> sums; (void)sums;": "no such mmul shape",
    "aie::mmul<4, 4, 8, int16, int8> sums{aie::zeros<acc64, 32>()};": "no matching",
    "aie::mmul<4, 16, 8, bfloat16, bfloat16> sums; (void)sums;": "no such mmul shape",
    "(void)aie::concat(aie::zeros<int8, 32>());": "no matching",
}


@needs_gcc
@pytest.mark.parametrize("body", NO_SUCH)
def test_what_the_headers_lack_does_not_compile(tmp_path, body) -> None:
    with pytest.raises(AssertionError, match=NO_SUCH[body]):
        run_main(tmp_path, body)


#: Block floating point, whose second operand has to come by columns.
BLOCKS = "aie::block_vector<bfp16ebs8, 64> b;"

#: The same by generation: what its headers do not instantiate, found by asking them for each
#: operation on each type.
NOT_OF = {
    20: {
        "aie::mul<acc32>(aie::zeros<int8, 16>(), aie::zeros<int32, 16>());": "no such product",
        "aie::mul<acc64>(aie::zeros<int32, 16>(), aie::zeros<uint8, 16>());": "no such product",
        "(void)aie::mul<accfloat>(aie::zeros<int16, 16>(), aie::zeros<int16, 16>());": (
            "no such product"
        ),
        "(void)aie::mul<accfloat>(aie::zeros<bfloat16, 16>(), aie::zeros<float, 16>());": (
            "no such product"
        ),
        "aie::accum<accfloat, 16> a(aie::zeros<int16, 16>());": "floats go into float sums",
        "(void)aie::zeros<acc32, 16>().to_vector<float>();": "float sums become floats",
        "aie::accum<acc32, 4> b;": "sums of 256 bits or more",
        "(void)aie::zeros<int8, 32>().pack();": "pack of 16 or 32 bits only",
        "(void)aie::zeros<int32, 16>().unpack();": "unpack of 8 or 16 bits only",
        "(void)aie::load_unaligned_v<64>(static_cast<const int32 *>(nullptr), 4);": (
            "unaligned loads are of 1024 bits at most"
        ),
    },
    21: {
        f"{BLOCKS} aie::mmul<8, 8, 8, bfp16ebs8, bfp16ebs8>().mac(b, b);": "transposed_blocks",
    },
    10: {
        "(void)aie::zeros<uint16, 16>();": "AIE has no vectors of these",
        "(void)aie::zeros<bfloat16, 16>();": "AIE has no vectors of these",
        "(void)aie::zeros<int8, 256>();": "1024 bits at most",
        "aie::accum<acc32, 16> c;": "AIE has no sums of 32 bits",
        "aie::accum<acc48, 4> d;": "eight sums of 48 bits or more",
        "aie::set_rounding(aie::rounding_mode::symmetric_floor);": "symmetric_floor",
    },
}


@pytest.mark.skipif(not COMPILERS, reason="no C++ compiler")
@pytest.mark.parametrize("generation", NOT_OF)
def test_what_a_generation_lacks_does_not_compile(tmp_path, generation) -> None:
    """Each statement is refused for its own reason; first of all, the headers alone are not."""
    bodies = NOT_OF[generation]
    source = tmp_path / "program.cpp"
    command = (FASTEST, "-std=c++20", "-fsyntax-only", f"-D__AIE_ARCH__={generation}")
    command += ("-I", str(include_folder()), str(source))
    said = []
    for lines in ([], [f"void f{n}() {{ {body} }}" for n, body in enumerate(bodies)]):
        source.write_text("#include <aie_api/aie.hpp>\n" + "\n".join(lines) + "\n")
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        said.append(done.stderr)
    assert said[0] == ""
    for line, wanted in enumerate(bodies.values(), start=2):
        assert f"program.cpp:{line}:" in said[1]
        assert wanted in said[1]


@needs_gcc
def test_sums_on_aie_stay_in_48_bits(tmp_path) -> None:
    body = """
    aie::accum<acc48, 8> sums(aie::broadcast<int32, 8>(1 << 30), 17);
    (void)sums.to_vector<int16>(40);
    """
    text = "#define __AIE_ARCH__ 10\n#include <aie_api/aie.hpp>\nint main() {\n"
    text += "aie_emulation::Core core;\nconst aie_emulation::Running running(core);\n"
    program = compile_cpp(text + body + "}\n", tmp_path, "program", FASTEST, extra=("-O0",))
    done = subprocess.run((str(program),), capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "a sum left the 48 bits that AIE has" in done.stderr


@needs_gcc
def test_sums_are_as_wide_as_the_headers_keep_them(tmp_path) -> None:
    """int16 by int8 in 4x8x4 is named by a tag of 32 bits and sums in 64."""
    body = """
    using Wide = aie::mmul<4, 8, 4, int16, int8, acc32>;
    static_assert(std::is_same_v<Wide::accum_type, aie::accum<acc64, 16>>);
    static_assert(std::is_same_v<aie::mmul<4, 8, 4, int16, int8>::accum_type, Wide::accum_type>);
    using Narrow = aie::mmul<4, 4, 8, int16, int8>;
    static_assert(std::is_same_v<Narrow::accum_type, aie::accum<acc32, 32>>);
    Wide sums(aie::accum<acc64, 16>(aie::broadcast<int32, 16>(2147483647)));
    sums.mac(aie::broadcast<int16, 32>(32767), aie::broadcast<int8, 32>(127));
    const std::int64_t wanted = 2147483647 + 8 * 32767 * std::int64_t{127};
    return sums.to_accum().lane(3) == wanted ? 0 : 3;
    """
    assert run_main(tmp_path, body).returncode == 0


@needs_gcc
def test_sums_that_stay_32_bits_wide_are_not_shifted(tmp_path) -> None:
    """`to_vector<int32>` of a 32-bit accumulator is a move in the vendor's headers."""
    body = """
    const aie::accum<acc32, 16> sums(aie::broadcast<int32, 16>(1000));
    const aie::accum<acc64, 16> wide(aie::broadcast<int32, 16>(1000));
    return sums.to_vector<int32>(3)[0] == 1000 && wide.to_vector<int32>(3)[0] == 125 ? 0 : 3;
    """
    assert run_main(tmp_path, body).returncode == 0


GRAPH = """
void pass(adf::input_buffer<int32> &__restrict x, adf::output_buffer<int32> &__restrict y) {
    for (unsigned i = 0; i < x.size(); i += 8) {
        aie::store_v(y.data() + i, aie::load_v<8>(x.data() + i));
    }
}
void give(adf::input_buffer<int32> &__restrict, output_cascade<acc32> *to) {
    writeincr(to, aie::zeros<acc32, 16>());
}
void take(input_cascade<acc32> *from, adf::output_buffer<int32> &__restrict y) {
    aie::store_v(y.data(), readincr_v<16>(from).to_vector<int32>(0));
}
struct Graph : adf::graph {
    adf::input_gmio x = adf::input_gmio::create(64, 1000);
    adf::output_gmio y = adf::output_gmio::create(64, 1000);
    adf::kernel a, b;
    adf::shared_buffer<int32> memory = adf::shared_buffer<int32>::create({16, 2}, 1, 1);
    %s
};
static Graph program;
"""
THROUGH = """Graph() {
        a = adf::kernel::create(pass);
        adf::connect(x.out[0], memory.in[0]);
        adf::connect(memory.out[0], a.in[0]);
        adf::connect(a.out[0], y.in[0]);
        adf::dimensions(a.in[0]) = {16};
        adf::dimensions(a.out[0]) = {16};
        adf::repetition_count(a) = 2;
        adf::read_access(memory.out[0]) = adf::tiling({.buffer_dimension = {16, 2},
            .tiling_dimension = {8, 2}, .offset = {-4, 0},
            .tile_traversal = {{.dimension = 0, .stride = 8, .wrap = 2}}});
    }"""
CASCADE = """Graph() {
        a = adf::kernel::create(give);
        b = adf::kernel::create(take);
        adf::location<adf::kernel>(a) = adf::tile(3, 3);
        adf::location<adf::kernel>(b) = adf::tile(%s);
        adf::connect(x.out[0], a.in[0]);
        adf::connect<adf::cascade>(a.out[0], b.in[0]);
        adf::connect(b.out[0], y.in[0]);
        adf::dimensions(a.in[0]) = {16};
        adf::dimensions(b.out[0]) = {16};
        adf::connect(x.out[0], memory.in[0]);
    }"""
RUN = """
    int32 in[32], out[32];
    for (int i = 0; i < 32; ++i) in[i] = i + 1;
    program.init();
    program.x.gm2aie_nb(in, sizeof(in));
    program.y.aie2gm_nb(out, sizeof(out));
    program.run(1);
    program.wait();
    program.end();
    for (int value : out) std::printf("%d ", value);"""


@needs_gcc
def test_global_memory_repetition_and_padding(tmp_path) -> None:
    """A kernel fires twice for one pass of the buffer, whose tiles reach over the left edge."""
    done = run_main(tmp_path, RUN, GRAPH % THROUGH)
    assert done.returncode == 0, done.stderr
    rows = np.arange(1, 33).reshape(2, 16)
    padded = np.pad(rows, ((0, 0), (4, 0)))
    wanted = [*padded[:, :8].reshape(-1), *padded[:, 8:16].reshape(-1)]
    assert [int(word) for word in done.stdout.split()] == wanted


@needs_gcc
def test_cascades_lead_east_and_south_only(tmp_path) -> None:
    done = run_main(tmp_path, RUN, GRAPH % (CASCADE % "2, 3"))
    assert "no cascade leads from kernel" in done.stderr


def host(*lines):
    """The host's side of GRAPH, with these statements between `init` and `end`."""
    body = "\n    ".join(lines)
    return f"""
    static int32 in[32], out[32];
    for (int i = 0; i < 32; ++i) in[i] = i + 1;
    (void)in, (void)out;
    program.init();
    {body}
    program.end();
    for (int value : out) std::printf("%d ", value);"""


SEND, ASK = "program.x.gm2aie_nb(in, sizeof(in));", "program.y.aie2gm_nb(out, sizeof(out));"
START, WAIT = "program.run(1);", "program.wait();"


#: Hosts that work, and what stops the others.
HOSTS = {
    "before": ((SEND, ASK, START, WAIT), None),
    "while it runs": ((ASK, START, SEND, "program.y.wait();", WAIT), None),
    "no wait": ((SEND, ASK, START, SEND, ASK, START), "run before the run before was waited for"),
    "fifth transfer": ((SEND,) * 5, "transfer 5 of a channel that holds 4 waits for ever: the gra"),
    "fifth without output": (
        (START, *(SEND,) * 5),
        "waits for ever: another port of the graph has no transfer yet",
    ),
    "no input": ((ASK, START, WAIT), "which holds 0"),
    "fifth result": ((ASK,) * 5, "transfer 5 of a channel that holds 4 waits for ever"),
}


@pytest.fixture(scope="module")
def hosts(tmp_path_factory):
    """A program that is the host of its argument."""
    cases = "\n".join(
        f"case {n}: {{ {' '.join(lines)} break; }}" for n, (lines, _) in enumerate(HOSTS.values())
    )
    text = f"""#include <adf.h>
#include <aie_api/aie.hpp>
#include <aie_api/aie_adf.hpp>
{GRAPH % THROUGH}
int main(int, char **words) {{
    static int32 in[32], out[32];
    for (int i = 0; i < 32; ++i) in[i] = i + 1;
    program.init();
    switch (std::atoi(words[1])) {{
{cases}
    }}
    program.end();
    for (int value : out) std::printf("%d ", value);
    return 0;
}}
"""
    return compile_cpp(
        text, tmp_path_factory.mktemp("hosts"), "program", FASTEST, extra=unoptimised()
    )


@needs_gcc
@pytest.mark.parametrize("name", HOSTS)
def test_hosts_that_would_hang_or_race_are_stopped(hosts, name) -> None:
    command = (str(hosts), str(list(HOSTS).index(name)))
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    message = HOSTS[name][1]
    if message is None:
        assert done.returncode == 0, done.stderr
        assert len(done.stdout.split()) == 32
    else:
        assert done.returncode != 0
        assert message in done.stderr


INNER = """
struct Inner : adf::graph {
    adf::input_port in;
    adf::output_port out;
    adf::kernel a;
    Inner() {
        a = adf::kernel::create(pass);
        adf::connect(in, a.in[0]);
        adf::connect(a.out[0], out);
        adf::dimensions(a.in[0]) = {16};
        adf::dimensions(a.out[0]) = {16};
    }
};
struct Outer : adf::graph {
    adf::input_port in;  // a port of its own before the part that does the work
    Inner inner;
    adf::output_port out;
    Outer() {
        adf::connect(in, inner.in);
        adf::connect(inner.out, out);
    }
};
struct Top : adf::graph {
    adf::input_port unused;
    Outer outer;
    adf::input_gmio x = adf::input_gmio::create(64, 1000);
    adf::output_gmio y = adf::output_gmio::create(64, 1000);
    Top() {
        adf::connect(x.out[0], outer.in);
        adf::connect(outer.out, y.in[0]);
        adf::repetition_count(outer.inner.a) = 2;
    }
};
static Top program;
"""


@needs_gcc
def test_parts_that_begin_after_a_port_of_the_whole_are_run(tmp_path) -> None:
    passing = GRAPH[: GRAPH.index("void give")]
    done = run_main(tmp_path, host(SEND, ASK, START, WAIT), passing + INNER)
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [str(n) for n in range(1, 33)]


@needs_gcc
def test_a_run_of_nothing_is_stopped(tmp_path) -> None:
    empty = "struct Empty : adf::graph {}; static Empty program;"
    done = run_main(tmp_path, "program.init(); program.run(1);", empty)
    assert "run of a graph that has no kernels" in done.stderr


LOCAL = """
void pile(adf::input_buffer<int32> &__restrict x, adf::output_buffer<int32> &__restrict y) {
    alignas(64) int32 kept[512];
    for (unsigned i = 0; i < 512; i += 16) aie::store_v(kept + i, aie::load_v<16>(x.data()));
    for (unsigned i = 0; i < 16; i += 16) aie::store_v(y.data() + i, aie::load_v<16>(kept + i));
}
struct Graph : adf::graph {
    adf::input_gmio x = adf::input_gmio::create(64, 1000);
    adf::output_gmio y = adf::output_gmio::create(64, 1000);
    adf::kernel a;
    Graph() {
        a = adf::kernel::create(pile);
        adf::connect(x.out[0], a.in[0]);
        adf::connect(a.out[0], y.in[0]);
        adf::dimensions(a.in[0]) = {16};
        adf::dimensions(a.out[0]) = {16};
        adf::repetition_count(a) = 2;
        %s
    }
};
static Graph program;
"""


@needs_gcc
@pytest.mark.parametrize("declared", ["", "adf::stack_size(a) = 3072;"])
def test_local_arrays_need_a_declared_stack(tmp_path, declared) -> None:
    done = run_main(tmp_path, host(SEND, ASK, START, WAIT), LOCAL % declared)
    if declared:
        assert done.returncode == 0, done.stderr
    else:
        assert "bytes of stack, and the graph gives 1024 (adf::stack_size)" in done.stderr
        assert "program.cpp" in done.stderr
