"""The documents' tables of sequences on the array: recurrent layers, attention, rows, blocks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from result_rows import Lines, Rows, half_and_double


def aie_recurrent(rows: Rows) -> Lines:
    """Steps of recurrent layers that fit the array, likewise."""
    yield "layer", "tiles", "a step, us", "assumptions at half / double, us", "largest error"
    apart = {*rows.cases("mean_error"), *(case for way in WAYS for case in _of_way(rows, way))}
    apart |= set(_in_float32(rows))
    for case in (each for each in rows.cases("simulated_us_half") if each not in apart):
        yield (
            case,
            rows.value(case, "tiles", 0),
            rows.value(case, "simulated_us", 3),
            half_and_double(rows, case, "simulated_us", 3),
            rows.value(case, "max_error", 4),
        )


def _in_float32(rows: Rows) -> Iterator[str]:
    """Cases in float32."""
    return (case for case in rows.cases("simulated_us_half") if case.endswith("_f32"))


def aie_single(rows: Rows) -> Lines:
    """Steps of recurrent layers in float32, as the search spreads them."""
    yield "layer", "tiles", "a step, us", "assumptions at half / double, us", "largest error, 1e-6"
    ways = tuple(f"{cell}_{way}_h" for cell in SINGLE_CELLS for way in SINGLE_WAYS)
    for case in (each for each in _in_float32(rows) if not each.startswith(ways)):
        yield (
            case,
            rows.value(case, "tiles", 0),
            rows.value(case, "simulated_us", 3),
            half_and_double(rows, case, "simulated_us", 3),
            rows.value(case, "max_error", 2),
        )


def aie_single_ways(rows: Rows) -> Lines:
    """A step in float32 by every way that has room."""
    yield "layer", "the search's", *SINGLE_WAYS.values()
    layers = (
        *(("gru", hidden) for hidden in (8, 16, 32, 64, 128)),
        *(("gru_before", hidden) for hidden in (16, 32, 64)),
        *(("lstm", hidden) for hidden in (16, 32, 64)),
    )
    for cell, hidden in layers:
        found = {way: f"{cell}_{way}_h{hidden}_f32" for way in SINGLE_WAYS}
        known = {way for way, case in found.items() if rows.all(case, "simulated_us")}
        cells = (_us_and_tiles(rows, found[way]) if way in known else "" for way in found)
        ours = f"{cell}_h{hidden}_f32"
        yield ours, _us_and_tiles(rows, ours), *cells


#: Cells in float32, as cases call them.
SINGLE_CELLS = ("gru", "gru_before", "lstm")

#: Ways to spread a GRU in float32 over tiles, as cases and the table call them.
SINGLE_WAYS = {
    "one_tile": "one tile",
    "apart": "inputs apart",
    "rows": "rows, states as packets",
    "cascade": "columns along a cascade",
    "hybrid": "gates in logic",
}

#: Ways to spread a GRU over tiles, as cases and the table call them; and published ones.
WAYS = {
    "one_tile": "one tile",
    "apart": "inputs apart",
    "tiles": "units over tiles",
    "neighbours": "neighbours' memories",
    "gates": "gates apart",
    "rows": "rows, states by streams",
    "cascade": "columns along a cascade",
    "hybrid": "gates in logic",
}
PUBLISHED = ("rows", "cascade", "hybrid")


def _of_way(rows: Rows, way: str) -> Iterator[str]:
    """Cases of a way."""
    heads = f"gru_{way}_h", f"lstm_{way}_h"
    return (case for case in rows.cases("simulated_us_half") if case.startswith(heads))


def aie_recurrent_ways(rows: Rows) -> Lines:
    """A GRU's step by every way that has room, with the number of tiles that is fastest."""
    yield from _ways(rows, "gru", tuple(WAYS), (4, 8, 16, 32, 48, 64, 96, 128))


def aie_lstm_ways(rows: Rows) -> Lines:
    """Likewise an LSTM's, by the published ways."""
    yield from _ways(rows, "lstm", PUBLISHED, (16, 32, 48, 64, 96, 128))


def aie_int8_ways(rows: Rows) -> Lines:
    """Likewise a GRU's with products of 8 bits."""
    yield from _ways(rows, "gru", tuple(WAYS), (16, 32, 64), "int8")


def aie_int8_lstm_ways(rows: Rows) -> Lines:
    """Likewise an LSTM's, by the published ways."""
    yield from _ways(rows, "lstm", PUBLISHED, (32, 64), "int8")


def _ways(
    rows: Rows, kind: str, ways: Sequence[str], sizes: Sequence[int], products: str = "bf16"
) -> Lines:
    """A step of such layers by some ways.

    Args:
        rows: of the benchmark.
        kind: "gru" or "lstm".
        ways: keys of `WAYS`.
        sizes: hidden units.
        products: of which type, as cases call it; those of a way are of bf16 where none is named.
    """
    end = "" if products == "bf16" else f"_{products}"
    names = (WAYS[way] for way in ways)
    yield "hidden units", "the search's", *names, "fastest published / the search's"
    for hidden in sizes:
        ours = f"{kind}_h{hidden}_{products}"
        found = {way: f"{kind}_{way}_h{hidden}{end}" for way in ways}
        known = {way: case for way, case in found.items() if rows.all(case, "simulated_us")}
        published = [rows.all(found[way], "simulated_us")[0] for way in PUBLISHED if way in known]
        ratio = min(published) / rows.all(ours, "simulated_us")[0] if published else None
        yield (
            hidden,
            _us_and_tiles(rows, ours),
            *(_us_and_tiles(rows, known[way]) if way in known else "" for way in ways),
            "" if ratio is None else f"{ratio:.2f}",
        )


def _us_and_tiles(rows: Rows, case: str) -> str:
    return f"{rows.value(case, 'simulated_us', 3)} ({rows.value(case, 'tiles', 0)})"


def aie_recurrent_networks(rows: Rows) -> Lines:
    """Networks around recurrent layers, from inputs to outputs."""
    yield "network", "a run, us", "by its steps, us", "MACs on the array, %", "accuracy, %"
    for case in rows.cases("step_us"):
        yield (
            case,
            rows.value(case, "run_us", 1),
            rows.value(case, "step_us", 3),
            rows.value(case, "macs_on_array_percent", 2),
            rows.value(case, "accuracy", 2) if case in rows.cases("accuracy") else "",
        )


def aie_attention(rows: Rows) -> Lines:
    """Heads of attention, resident, runs repeated."""
    share, varied = "share of these tiles' peak, %", "assumptions at half / double, %"
    yield "layer", "tiles", "a run, us", share, varied, "largest error, steps"
    for case in rows.cases("share_of_peak"):
        yield (
            case,
            rows.value(case, "tiles", 0),
            rows.value(case, "simulated_us", 1),
            rows.value(case, "share_of_peak", 1),
            half_and_double(rows, case, "share_of_peak", 1),
            rows.value(case, "max_error", 1),
        )


def aie_rows(rows: Rows) -> Lines:
    """Rows and functions of elements, each alone on a column."""
    yield (
        "layer",
        "tiles",
        "a run, us",
        "elements a ns",
        "assumptions at half / double, us",
        "error",
    )
    for case in rows.cases("elements_per_ns"):
        yield (
            case,
            rows.value(case, "tiles", 0),
            rows.value(case, "simulated_us", 1),
            rows.value(case, "elements_per_ns", 2),
            half_and_double(rows, case, "simulated_us", 1),
            rows.value(case, "max_error", 2),
        )


def aie_blocks(rows: Rows) -> Lines:
    """Blocks around dense layers, as pipelines whose projects were run."""
    yield (
        "block",
        "tiles",
        "a result every, us",
        "TOPS",
        "assumptions at half / double, TOPS",
        "products on the array, %",
        "largest / mean error, steps",
    )
    for case in rows.cases("mean_error"):
        largest, mean = (rows.value(case, f"{which}_error", 1) for which in ("max", "mean"))
        yield (
            case,
            rows.value(case, "tiles", 0),
            rows.value(case, "simulated_us", 2),
            rows.value(case, "simulated_tops", 1),
            half_and_double(rows, case, "simulated_tops", 1),
            rows.value(case, "macs_on_array_percent", 0),
            f"{largest} / {mean}",
        )
