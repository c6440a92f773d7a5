"""Names of the vendor's API that generated kernels do not use: each means what the headers say."""

import ctypes
import subprocess

import numpy as np
import pytest
from aie_harness import COMPILERS, ROUNDING, compile_cpp, run_main

from match_aie.targets.aie_ml.kernels.numeric import ROUNDING_MODES, round_shift, saturate

pytestmark = pytest.mark.skipif("g++" not in COMPILERS, reason="not installed: g++")

NAMES = """
#include <aie_api/aie.hpp>
namespace {
template <typename T, unsigned N>
aie::vector<T, N> taken(const std::int32_t *from) {
    aie::vector<T, N> lanes;
    for (unsigned i = 0; i < N; ++i) lanes[i] = static_cast<T>(from[i]);
    return lanes;
}
template <typename V>
void put(const V &lanes, std::int32_t *to) {
    for (unsigned i = 0; i < V::size(); ++i) to[i] = static_cast<std::int32_t>(lanes[i]);
}
template <typename T, unsigned N>
void floats(const aie::vector<T, N> &lanes, float *to) {
    for (unsigned i = 0; i < N; ++i) to[i] = lanes[i];
}
struct OnCore {
    aie_emulation::Core core;
    aie_emulation::Running running{core};
    explicit OnCore(int rounding) {
        aie::set_rounding(static_cast<aie::rounding_mode>(rounding));
        aie::set_saturation(aie::saturation_mode::saturate);
    }
};
}  // namespace
extern "C" {
void rearranged(const std::int32_t *a, const std::int32_t *b, int by, int chunk, std::int32_t *to) {
    const OnCore core(0);
    const auto x = taken<int8, 32>(a), y = taken<int8, 32>(b);
    put(aie::shuffle_down_fill(x, y, static_cast<unsigned>(by)), to);
    const auto [low, high] = aie::interleave_zip(x, y, static_cast<unsigned>(chunk));
    put(low, to + 32), put(high, to + 64);
    put(aie::vector_cast<int16>(x), to + 96);
    put(aie::unpack(x), to + 112);
}
void lanes(const std::int32_t *a, const std::int32_t *b, int by, int rounding, std::int32_t *to) {
    const OnCore core(rounding);
    const auto x = taken<int16, 16>(a), y = taken<int16, 16>(b);
    put(aie::downshift(x, static_cast<unsigned>(by)), to);
    put(aie::bit_and(x, y), to + 16);
    const auto sums = aie::from_vector<acc32>(x, 3);
    static_assert(std::is_same_v<decltype(sums), const aie::accum<acc32, 16>>);
    put(aie::to_vector<int32>(sums), to + 32);
    put(aie::to_vector<int8>(aie::add(sums, y), by), to + 48);
    put(aie::to_vector<int32>(aie::sub(sums, y)), to + 64);
    put(aie::to_vector<int32>(aie::mac_square(aie::from_vector<acc32>(y), x)), to + 80);
    const auto products = aie::mul(x, y);  // of the default accumulator
    static_assert(std::is_same_v<decltype(products), const aie::accum<acc32, 16>>);
    const auto wide = taken<int32, 16>(a);
    static_assert(std::is_same_v<decltype(aie::mul(wide, y)), aie::accum<acc48, 16>>);
    static_assert(std::is_same_v<decltype(aie::mul(wide, wide)), aie::accum<acc64, 16>>);
    put(aie::to_vector<int32>(products), to + 96);
}
void sliding(const std::int32_t *coeff, int c, const std::int32_t *data, int d, std::int32_t *to) {
    const OnCore core(0);
    using Ops = aie::sliding_mul_ch_ops<4, 8, 4, 1, 1, 1, int8, int8, acc32>;
    const auto w = taken<int8, 32>(coeff);
    const auto x = taken<int8, 64>(data);
    const auto at = static_cast<unsigned>(c), from = static_cast<unsigned>(d);
    const auto first = Ops::mul(w, at, x, from);
    put(aie::to_vector<int32>(first), to);
    put(aie::to_vector<int32>(Ops::mac(first, w, at, x, from)), to + 32);
}
void real(const std::int32_t *whole, int shift, const float *values, float *to,
          std::int32_t *fixed) {
    const OnCore core(12);
    floats(aie::to_float(taken<int32, 16>(whole), shift), to);
    aie::vector<float, 16> x;
    for (unsigned i = 0; i < 16; ++i) x[i] = values[i];
    floats(aie::inv(x), to + 16);
    floats(aie::invsqrt(x), to + 32);
    put(aie::to_fixed<int32>(x, shift), fixed);
    put(aie::to_fixed<int16>(x, shift), fixed + 16);
}
int leading(int value) { return clb(value); }
int walked(std::int32_t *numbers) {
    const OnCore core(0);
    alignas(64) static int16 memory[96];
    const aie_emulation::Mapped mapped(aie_emulation::core(), memory, 96, "memory");
    for (int i = 0; i < 96; ++i) memory[i] = static_cast<int16>(i);
    auto from = aie::cbegin_vector<16>(memory);
    auto to = aie::begin_vector<16>(memory + 48);
    const auto end = from + 2;
    const aie::vector<int16, 16> first = *aie::begin_vector<16>(memory);
    for (; !(from == end); ++to) *to = aie::add(*from++, first);
    for (int i = 0; i < 96; ++i) numbers[i] = memory[i];
    return static_cast<int>(aie_emulation::core().counters.load);
}
int set_by_a_vector() {
    const OnCore core(0);
    aie::mmul<4, 8, 8, int8, int8, acc32> sums;
    sums = aie::broadcast<int32, 32>(7);
    sums.mac(aie::broadcast<int8, 32>(2), aie::broadcast<int8, 64>(3));
    return sums.to_vector<int32>()[9];
}
}
"""


def pointer(array):
    return array.ctypes.data_as(ctypes.c_void_p)


@pytest.fixture(scope="module")
def names(tmp_path_factory):
    return ctypes.CDLL(str(compile_cpp(NAMES, tmp_path_factory.mktemp("names"), "names")))


def random(seed, low, high, count):
    return np.random.default_rng(seed).integers(low, high, count, dtype=np.int32)


@pytest.mark.parametrize(("by", "chunk"), [(0, 1), (3, 2), (16, 8), (31, 16), (32, 32)])
def test_rearrangements(names, by, chunk) -> None:
    a, b = random(1, -128, 128, 32), random(2, -128, 128, 32)
    to = np.zeros(144, np.int32)
    names.rearranged(pointer(a), pointer(b), by, chunk, pointer(to))
    np.testing.assert_array_equal(to[:32], np.concatenate([a, b])[by : by + 32])
    turns = np.stack([a.reshape(-1, chunk), b.reshape(-1, chunk)], axis=1).reshape(-1)
    np.testing.assert_array_equal(to[32:96], turns)
    np.testing.assert_array_equal(to[96:112], a.astype(np.int8).view(np.int16))
    np.testing.assert_array_equal(to[112:144], a)


@pytest.mark.parametrize("rounding", ROUNDING_MODES)
@pytest.mark.parametrize("by", [0, 1, 5])
def test_lane_by_lane(names, rounding, by) -> None:
    """A shift down goes through an accumulator, so the core's modes round and saturate it."""
    a, b = random(3, -2000, 2000, 16), random(4, -2000, 2000, 16)
    a[0] = -32768
    to = np.zeros(112, np.int32)
    names.lanes(pointer(a), pointer(b), by, ROUNDING[rounding], pointer(to))
    wide = a.astype(np.int64)
    wanted = (
        saturate(round_shift(wide, by, rounding), "int16", "saturate"),
        a & b,
        8 * a,
        saturate(round_shift(8 * wide + b, by, rounding), "int8", "saturate"),
        8 * a - b,
        b + a * a,
        a * b,
    )
    np.testing.assert_array_equal(to, np.concatenate(wanted))


@pytest.mark.parametrize(("c", "d"), [(0, 0), (1, 2), (3, 7)])
def test_sliding_products_channel_by_channel(names, c, d) -> None:
    coeff, data = random(5, -128, 128, 32), random(6, -128, 128, 64)
    to = np.zeros(64, np.int32)
    names.sliding(pointer(coeff), c, pointer(data), d, pointer(to))
    wanted = np.zeros(32, np.int64)
    for lane in range(32):
        for p in range(4):
            w = coeff[((c + p) * 8 + lane % 8) % 32]
            wanted[lane] += int(w) * int(data[((d + lane // 8 + p) * 8 + lane % 8) % 64])
    np.testing.assert_array_equal(to[:32], wanted)
    np.testing.assert_array_equal(to[32:], 2 * wanted)


def test_integers_and_floats(names) -> None:
    whole = random(7, -(1 << 31), (1 << 31) - 1, 16)
    values = np.exp(np.random.default_rng(8).uniform(-8, 8, 16)).astype(np.float32)
    values[:5] = [0.5, 1.5, 2.5, 40000.0, 3e9]
    to, fixed = np.zeros(48, np.float32), np.zeros(32, np.int32)
    for shift in (0, 4, 15):
        names.real(pointer(whole), shift, pointer(values), pointer(to), pointer(fixed))
        np.testing.assert_array_equal(to[:16], np.ldexp(whole.astype(np.float32), -shift))
        exact = np.rint(np.ldexp(values.astype(np.float64), shift))  # halves to even
        for got, dtype in ((fixed[:16], np.int32), (fixed[16:], np.int16)):
            info = np.iinfo(dtype)
            np.testing.assert_array_equal(got, np.clip(exact, info.min, info.max))
    np.testing.assert_allclose(to[16:32], 1 / values.astype(np.float64), rtol=4e-3)
    np.testing.assert_allclose(to[32:48], values.astype(np.float64) ** -0.5, rtol=1e-3)


def test_leading_bits(names) -> None:
    for value in (0, 1, 2, 255, 256, 1 << 30, -1, -2, -(1 << 31)):
        bits = f"{value & 0xFFFFFFFF:032b}"
        assert names.leading(value) == 32 - len(bits.lstrip(bits[0])), value


def test_iterators_load_and_store_vectors(names) -> None:
    numbers = np.zeros(96, np.int32)
    loads = names.walked(pointer(numbers))
    wanted = np.arange(96)
    wanted[48:64] = 2 * np.arange(16)
    wanted[64:80] = np.arange(16, 32) + np.arange(16)
    np.testing.assert_array_equal(numbers, wanted)
    assert loads == 3


def test_accumulators_of_a_product_are_set_by_a_vector(names) -> None:
    assert names.set_by_a_vector() == 7 + 8 * 2 * 3


OBJECTS = """
template <int Factor>
class Scale {
  public:
    explicit Scale(int16 offset) : offset_(offset) {
        aie::set_saturation(aie::saturation_mode::saturate);
    }
    void run(adf::input_buffer<int16> &x, const int16 (&factors)[16],
             adf::output_buffer<int16> &y) {
        const auto sums = aie::mul(aie::load_v<16>(x.data()), aie::load_v<16>(factors));
        aie::store_v(scratch_, sums.template to_vector<int16>(0));
        const auto offset = aie::broadcast<int16, 16>(offset_);
        *aie::begin_vector<16>(y.data()) = aie::add(aie::load_v<16>(scratch_), offset);
        ++calls_;
        if (calls_ != expected++) std::abort();
    }
    static void registerKernelClass() { REGISTER_FUNCTION(Scale::run); }
    static inline int expected = 1;

  private:
    alignas(aie::vector_decl_align) int16 scratch_[16];
    int16 offset_;
    int calls_ = 0;  // objects live as long as the graph
};
template <typename Port>
void pin(Port &port) {  // a kernel's ports are lvalues
    adf::location<adf::buffer>(port) = {adf::bank(0, 0, 0), adf::bank(0, 0, 1)};
}
struct Both : adf::graph {
    adf::input_port x[2];
    adf::input_port factors;
    adf::output_port y;
    adf::kernel a = adf::kernel::create_object<Scale<1>>(5);
    adf::kernel b = adf::kernel::create_object<Scale<2>>(-5);
    adf::pktorderedmerge<2> merge = adf::pktorderedmerge<2>::create();
    Both() {
        adf::kernel *kernels[] = {&a, &b};
        for (int i = 0; i < 2; ++i) {
            adf::kernel &k = *kernels[i];
            adf::connect<>(x[i], k.in[0]);
            adf::connect<adf::parameter>(factors, adf::async(k.in[1]));
            adf::connect<>(k.out[0], merge.in[i]);
            adf::dimensions(k.in[0]) = {16};
            adf::dimensions(k.out[0]) = {16};
            pin(k.in[0]);
        }
        adf::connect<>(merge.out[0], y);
    }
};
struct Program : adf::graph {
    adf::input_gmio x[2];
    adf::input_port factors;
    Both both;
    adf::output_gmio y = adf::output_gmio::create(64, 1000);
    Program() {
        for (int i = 0; i < 2; ++i) {
            x[i] = adf::input_gmio::create(64, 1000);
            adf::connect<>(x[i].out[0], both.x[i]);
        }
        adf::connect<>(factors, both.factors);
        adf::connect<>(both.y, y.in[0]);
    }
};
static Program program;
"""


def test_kernels_that_are_objects_and_merged_streams(tmp_path) -> None:
    """Their constructors set the core's modes, and their members are memory of the tile."""
    host = """
    alignas(64) int16 in[2][32], factors[16], out[64];
    for (int i = 0; i < 32; ++i) {
        in[0][i] = static_cast<int16>(i), in[1][i] = static_cast<int16>(-1000 * i);
    }
    for (int i = 0; i < 16; ++i) factors[i] = static_cast<int16>(i % 2 == 0 ? 2 : 100);
    program.init();
    program.update(program.factors, factors, 16);
    for (int i = 0; i < 2; ++i) program.x[i].gm2aie_nb(in[i], sizeof(in[i]));
    program.y.aie2gm_nb(out, sizeof(out));
    program.run(2);
    program.wait();
    program.end();
    for (int16 value : out) std::printf("%d ", value);"""
    done = run_main(tmp_path, host.replace("alignas(64)", "static"), OBJECTS)
    assert done.returncode == 0, done.stderr
    factors = np.where(np.arange(16) % 2 == 0, 2, 100)
    first, second = np.arange(32).reshape(2, 16), -1000 * np.arange(32).reshape(2, 16)
    turns = [
        lanes
        for at in range(2)
        for lanes in (first[at] * factors + 5, np.clip(second[at] * factors, -32768, 32767) - 5)
    ]
    wanted = (np.concatenate(turns) + 32768) % 65536 - 32768  # sums of vectors wrap
    assert [int(word) for word in done.stdout.split()] == wanted.tolist()


PACKETS = """
void half(adf::input_buffer<int32> &x, adf::output_buffer<int32> &y) {
    for (unsigned i = 0; i < 8; ++i) y.data()[i] = x.data()[i] / 2;
}
void join(input_pktstream *from, adf::output_buffer<int32> &y) {
    for (unsigned packet = 0; packet < 2; ++packet) {
        const auto header = static_cast<unsigned>(readincr(from));
        const unsigned of = (header & 31) == getPacketid(from, 1);
        if (!of && (header & 31) != getPacketid(from, 0)) std::abort();
        if (__builtin_popcount(header) % 2 == 0) std::abort();
        y.data()[18 * of] = static_cast<int32>(header >> 16 & 31);
        y.data()[18 * of + 1] = static_cast<int32>(header >> 21 & 127);
        for (unsigned i = 0; i < 8; ++i) y.data()[18 * of + 2 + i] = readincr(from);
    }
}
struct Packets : adf::graph {
    adf::input_gmio x[2];
    adf::output_gmio y = adf::output_gmio::create(64, 1000);
    adf::kernel k[2], last = adf::kernel::create(join);
    adf::pktmerge<2> merge = adf::pktmerge<2>::create();
    Packets() {
        for (int i = 0; i < 2; ++i) {
            x[i] = adf::input_gmio::create(64, 1000);
            k[i] = adf::kernel::create(half);
            adf::location<adf::kernel>(k[i]) = adf::tile(7, i + 2);
            adf::connect<>(x[i].out[0], k[i].in[0]);
            adf::connect<>(k[i].out[0], merge.in[1 - i]);
            adf::dimensions(k[i].in[0]) = {8};
            adf::dimensions(k[i].out[0]) = {8};
        }
        adf::connect<>(merge.out[0], last.in[0]);
        adf::connect<>(last.out[0], y.in[0]);
        adf::dimensions(last.out[0]) = {36};
    }
};
static Packets packets;
"""


def test_packets_say_by_which_input_of_a_merge_they_came(tmp_path) -> None:
    """Each with a header: identifier, row, column, odd parity."""
    host = """
    static int32 in[2][8], out[36];
    for (int i = 0; i < 8; ++i) in[0][i] = 2 * i, in[1][i] = 20 * i;
    packets.init();
    for (int i = 0; i < 2; ++i) packets.x[i].gm2aie_nb(in[i], sizeof(in[i]));
    packets.y.aie2gm_nb(out, sizeof(out));
    packets.run(1);
    packets.wait();
    packets.end();
    for (int i : {0, 18}) for (int at = i; at < i + 10; ++at) std::printf("%d ", out[at]);"""
    done = run_main(tmp_path, host, PACKETS)
    assert done.returncode == 0, done.stderr
    second, first = [3, 7, *range(0, 80, 10)], [2, 7, *range(8)]
    assert [int(word) for word in done.stdout.split()] == [*second, *first]


def test_a_class_without_a_function_of_its_own_is_refused(tmp_path) -> None:
    before = """
    struct Base { void run(adf::output_buffer<int16> &) {} };
    struct Derived : Base { static void registerKernelClass() { REGISTER_FUNCTION(Base::run); } };
    """
    done = run_main(tmp_path, "adf::kernel::create_object<Derived>();", before)
    assert done.returncode != 0
    assert "registers no function of its own" in done.stderr


def test_static_variables_are_memory_of_the_tile_and_aligned(tmp_path) -> None:
    body = """
    alignas(64) static int8 own[64];
    aie::store_v(own, aie::broadcast<int8, 32>(3));
    if (aie::load_v<32>(own)[5] != 3) return 2;
    (void)aie::load_v<32>(own + 16);
    """
    done = run_main(tmp_path, body)
    assert "misaligned load of a static variable" in done.stderr
    assert done.returncode not in (0, 2)


def test_kernels_may_write_into_their_input_buffers(tmp_path) -> None:
    """A tile's memory is the kernel's while it runs; parameters are constant."""
    before = """
    void border(adf::input_buffer<int16> &x, adf::output_buffer<int16> &y) {
        aie::store_v(const_cast<int16 *>(x.data()), aie::broadcast<int16, 16>(9));
        aie::store_v(y.data(), aie::load_v<16>(x.data()));
    }
    void spoil(adf::input_buffer<int16> &, const int16 (&p)[16], adf::output_buffer<int16> &) {
        aie::store_v(const_cast<int16 *>(p), aie::zeros<int16, 16>());
    }
    struct Graph : adf::graph {
        adf::input_gmio x = adf::input_gmio::create(64, 1000);
        adf::output_gmio y = adf::output_gmio::create(64, 1000);
        adf::input_port p;
        adf::kernel a;
        explicit Graph(bool spoils) {
            a = spoils ? adf::kernel::create(spoil) : adf::kernel::create(border);
            adf::connect<>(x.out[0], a.in[0]);
            adf::connect<>(a.out[0], y.in[0]);
            if (spoils) adf::connect<adf::parameter>(p, adf::async(a.in[1]));
            adf::dimensions(a.in[0]) = {16};
            adf::dimensions(a.out[0]) = {16};
        }
    };"""
    host = """
    Graph program(%s);
    static int16 in[16], out[16];
    program.init();
    if (%s) program.update(program.p, in, 16);
    program.x.gm2aie_nb(in, sizeof(in));
    program.y.aie2gm_nb(out, sizeof(out));
    program.run(1);
    program.wait();
    program.end();
    return out[7] == 9 ? 0 : 3;"""
    assert run_main(tmp_path, host % ("false", "false"), before).returncode == 0
    assert "store into constant data" in run_main(tmp_path, host % ("true", "true"), before).stderr


@pytest.mark.parametrize("compiler", COMPILERS)
def test_headers_compile_without_warnings(tmp_path, compiler) -> None:
    """Everything that the emulation has, with each compiler."""
    out = compile_cpp(NAMES, tmp_path, "names", compiler)
    assert subprocess.run(("nm", "-D", str(out)), capture_output=True, check=True).stdout
