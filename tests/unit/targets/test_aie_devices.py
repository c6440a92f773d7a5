"""The described arrays: what the facts say of them, and what happens where they say nothing."""

import pytest

from match_aie.errors import TargetError
from match_aie.targets.aie_ml import Tiling, device, devices
from match_aie.targets.aie_ml.facts_reader import CONFIDENCES, Facts, read_facts
from match_aie.targets.aie_ml.mmul_shapes import header_shapes


@pytest.mark.parametrize(
    ("name", "generation", "columns", "rows", "tiles", "mem_tiles"),
    [
        ("vek280", "AIE-ML", 38, (8, 2, 1), 304, 76),
        ("vek385", "AIE-MLv2", 36, (4, 1, 1), 144, 36),
        ("vck190", "AIE", 50, (8, 0, 1), 400, 0),
        ("npu1", "XDNA1", 4, (4, 1, 1), 16, 4),
        ("npu2", "XDNA2", 8, (4, 1, 1), 32, 8),
    ],
)
def test_shape(name, generation, columns, rows, tiles, mem_tiles) -> None:
    array = device(name)
    assert array.architecture.name == generation
    assert (array.columns, array.core_rows, array.mem_rows, array.shim_rows) == (columns, *rows)
    assert (array.core_tiles, array.columns * array.mem_rows) == (tiles, mem_tiles)


def test_tile_counts_agree_with_the_facts() -> None:
    entries = read_facts().part("devices")
    for name in devices():
        entry = entries.part(device(name).part)
        assert entry.integer("core_tiles") in (None, device(name).core_tiles)


def test_vek280_in_numbers() -> None:
    array = device("vek280")
    core = array.architecture.core
    assert array.clock_ghz == 1.25
    assert (array.plio_in, array.plio_out) == (112, 84)
    assert (core.data_memory_bytes, core.banks.logical, core.stack_default_bytes) == (
        65536,
        4,
        1024,
    )
    assert core.macs_of("int8", "int8") == 256
    assert core.macs_of("bfloat16", "bfloat16") == 128
    assert array.architecture.addressing["mem"].pad == (63, 31, 15)
    assert array.architecture.addressing["core"].pad == ()
    assert array.architecture.switch_ports["core_tile", "master", "N"] == 6
    assert 2 * core.macs["int8xint8"] * array.core_tiles * array.clock_ghz / 1e3 == 194.56


def test_native_tilings_come_first() -> None:
    core = device("vek280").architecture.core
    shapes = core.tilings_of("uint8", "int8")
    assert shapes[0] == Tiling(4, 8, 8, native=True)
    assert Tiling(8, 8, 8, native=False) in shapes
    assert [t.native for t in shapes] == sorted((t.native for t in shapes), reverse=True)
    assert core.tilings_of("float64", "int8") == ()


def test_what_is_not_known_is_refused_by_name() -> None:
    chip = device("npu2")
    assert chip.plio_in is None
    with pytest.raises(TargetError, match=r"128-bit inputs of npu2 is not known"):
        chip.need(chip.plio_in, "the number of 128-bit inputs")
    with pytest.raises(TargetError, match=r"'scalar_int_mul' of AIE is not known"):
        device("vck190").architecture.latency("scalar_int_mul")
    assert device("vek280").need(0, "a zero that is known") == 0


def test_ways_that_no_document_says_are_assumed_by_column_and_say_so() -> None:
    """As many interface tiles a column as the VEK280 has, and what one of them has."""
    board, like = device("vek385"), device("vek280")
    tiles = like.plio_in // 4 * board.columns // like.columns
    assert (board.plio_in, board.plio_out) == (4 * tiles, 3 * tiles)
    assert board.shim_noc_columns == like.shim_noc_columns
    assert (board.gmio_in, board.gmio_out) == (like.gmio_in, like.gmio_out)
    assert max(board.shim_noc_columns) < board.columns
    for fact in ("plio", "gmio", "shim_noc_columns"):
        proven = board.provenance[f"devices.2ve3858.{fact}"]
        assert proven.confidence == "inferred"
        assert proven.source.startswith("assumed")


@pytest.mark.parametrize(
    ("name", "repeated", "confidence"),
    [
        ("vek280", 16, "documented"),
        ("npu1", 16, "documented"),
        ("npu2", 32, "measured_third_party"),
    ],
)
def test_tables_repeat_what_a_source_says(name, repeated, confidence) -> None:
    found = device(name)
    assert found.architecture.core.table_bytes == repeated
    path = f"architectures.{found.architecture.name}.core.parallel_tables"
    assert found.provenance[path].confidence == confidence
    assert device("vek385").architecture.core.table_bytes is None


def test_latencies_of_a_stand_in_are_marked() -> None:
    arch = device("vek385").architecture
    assert arch.latency("vmac_int_latency") == device("npu2").architecture.latency(
        "vmac_int_latency"
    )
    assert "vmac_int_latency" in arch.inherited_latencies
    assert "scalar_mul_latency" not in arch.inherited_latencies
    assert device("vek280").architecture.inherited_latencies == frozenset()


@pytest.mark.parametrize("name", devices())
def test_every_fact_says_where_it_comes_from(name) -> None:
    provenance = device(name).provenance
    assert {p.confidence for p in provenance.values()} <= set(CONFIDENCES)
    architecture = device(name).architecture.name
    assert provenance[f"architectures.{architecture}.core.data_memory_bytes"].source


def test_unknown_device() -> None:
    with pytest.raises(TargetError, match="no AI Engine device 'vek999'"):
        device("vek999")


def test_negative_and_unknown_confidence_are_refused() -> None:
    with pytest.raises(TargetError, match="negative"):
        Facts("here", {"rows": {"value": -1}}).integer("rows")
    with pytest.raises(TargetError, match="unknown confidence"):
        Facts("here", {"value": 1, "source": "", "confidence": "hoped"}).provenance()


def test_accumulators_are_those_of_the_vendors_headers() -> None:
    core = device("vek280").architecture.core
    lanes = {(t.m, t.k, t.n): (t.tag_bits, t.lane_bits) for t in core.tilings_of("int16", "int8")}
    assert lanes[4, 4, 8] == (32, 32)
    assert lanes[4, 8, 4] == lanes[2, 8, 8] == (32, 64)  # the tag says 32, sums have 64
    aie = device("vck190").architecture.core.tilings_of("int8", "int8")
    assert {t.lane_bits for t in aie} == {48}


def test_shapes_that_would_lose_sums_are_listed_and_not_offered() -> None:
    core = device("vek280").architecture.core
    narrow = Tiling(4, 2, 8, native=True)
    assert narrow in core.tilings["int16xint16"]
    assert narrow not in core.tilings_of("int16", "int16")


def test_a_shape_that_takes_only_sparse_weights_is_none() -> None:
    bf16 = device("vek280").architecture.core.tilings_of("bfloat16", "bfloat16")
    assert (4, 16, 8) not in {(t.m, t.k, t.n) for t in bf16}


@pytest.mark.parametrize("name", ["vek280", "npu1", "npu2", "vck190"])
def test_every_offered_shape_is_one_of_the_headers(name) -> None:
    arch = device(name).architecture
    known = header_shapes(arch.name)
    assert known is not None
    for pair, shapes in arch.core.tilings.items():
        for t in shapes:
            if t.lanes:  # of this project's own kernels
                continue
            sums = known[pair, t.m, t.k, t.n]
            assert (t.lane_bits, t.tag_bits) == (sums.lane_bits, sums.tag_bits)


@pytest.mark.parametrize("name", ["vek280", "npu1"])
def test_32_bit_operands_sum_in_64_bits_and_are_multiplied_by_halves(name) -> None:
    """UG1583: 32b x 16b is native in 4x2x4 alone; others are made of products of 16 bits."""
    core = device(name).architecture.core
    for pair, native, products in (
        (("int32", "int16"), {(4, 2, 4)}, 1),
        (("int16", "int32"), set(), 2),
        (("int32", "int32"), set(), 2),
    ):
        shapes = core.tilings_of(*pair)
        assert {t.lane_bits for t in shapes} == {64}
        assert {(t.m, t.k, t.n) for t in shapes if t.native} == native
        assert core.instructions(*pair, shapes[0]) == products
    assert (4, 1, 8) not in {(t.m, t.k, t.n) for t in core.tilings_of("int32", "int32")}


def test_no_headers_are_public_for_the_newest_generation() -> None:
    assert header_shapes("AIE-MLv2") is None
    wide = device("vek385").architecture.core.tilings_of("int16", "int16")
    assert {t.lane_bits for t in wide} == {64}
