"""The documents' tables of AI Engine arrays: Versal, what layers and networks take, Ryzen AI."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from result_rows import Lines, Rows


def half_and_double(rows: Rows, case: str, metric: str, decimals: int) -> str:
    """What `metric` is at half and at double of every assumed constant."""
    return " / ".join(rows.value(case, f"{metric}_{at}", decimals) for at in ("half", "double"))


def versal_networks(rows: Rows) -> Lines:
    """Networks on the array."""
    yield (
        *("network", "layers on the array", "simulated, us", "of it in array layers"),
        *("prediction error, mean / worst", "assumptions at half / double, us"),
    )
    for name in rows.cases("simulated_us"):
        mean, worst = (rows.value(name, f"{kind}_prediction_error", 1) for kind in ("mean", "max"))
        half, double = rows.all(name, "simulated_us_varied")
        yield (
            *(name, rows.value(name, "array_layers", 0), rows.value(name, "simulated_us", 1)),
            *(f"{rows.value(name, 'array_share', 0)} %", f"{mean} / {worst} %"),
            f"{half:,.1f} / {double:,.1f}",
        )


def versal_dense(rows: Rows) -> Lines:
    """Dense layers alone."""
    yield (
        "rows x reduction x columns",
        "simulated",
        "cost model, array's part",
        "Arm core, modelled",
    )
    for name in rows.cases("dense_simulated_us"):
        error = rows.all(name, "array_prediction_error")[0]
        arm = rows.value(name, "arm_us", 0)
        yield name, rows.value(name, "dense_simulated_us", 1), f"{error:+.1f} %", arm


def versal_products(rows: Rows) -> Lines:
    """Products of two activations alone."""
    yield "batch, rows, reduction, columns", "predicted", "simulated", "Arm core, modelled"
    for name in rows.cases("product_simulated_us"):
        metrics = ("product_predicted_us", "product_simulated_us", "arm_us")
        yield name, *(rows.value(name, metric, 1) for metric in metrics)


def versal_differences(rows: Rows) -> Lines:
    """Outputs against onnxruntime's."""
    yield "network", "layers on the array", "largest difference from onnxruntime, LSB"
    for name in rows.cases("max_lsb_vs_model"):
        layers = rows.note(name, "max_lsb_vs_model").split(";")[0]
        yield name, layers, rows.value(name, "max_lsb_vs_model", 0)


def aie_tiles(rows: Rows) -> Lines:
    """Kernels on one tile."""
    yield (
        *("kernel", "`flat`", "`overlapped`", "multiplier, `flat`"),
        *("ping-pong, `flat`, GOPS", "`overlapped`, GOPS"),
    )
    for case in rows.cases("modelled_gops"):
        shares = ("", "_shift_overlapped", "_multiplier_flat")
        rates = ("simulated_gops", "simulated_gops_overlapped")
        yield (
            case.removeprefix("tile_"),
            *(rows.value(case, f"efficiency_percent{share}", 1) + " %" for share in shares),
            *(rows.value(case, rate, 0) for rate in rates),
        )


def aie_gemms(rows: Rows) -> Lines:
    """Products as they are emitted, of programs that were executed."""
    yield "GEMM", "fed by", "cycles", "TOPS", "of the array's peak"
    ways = (
        ("", "streams, repeated"),
        ("_once", "streams, a single run"),
        ("_once_ddr", "the chip's memory, a single run"),
    )
    for case in rows.cases("executed_once"):
        for which, what in ways:
            yield (
                case.removeprefix("gemm_"),
                what,
                rows.value(case, f"simulated_cycles{which}", 0),
                rows.value(case, f"simulated_tops{which}", 1),
                rows.value(case, f"efficiency_percent{which}", 1) + " %",
            )


def aie_cascades(rows: Rows) -> Lines:
    """The same by what is assumed of cascades, and by all that is assumed."""
    yield "fed by streams", "2", "8", "16", "half", "double"
    assumed = ("cascade_2", "cascade_8", "cascade_16", "half", "double")
    for case in rows.cases("executed_once"):
        for which, what in (("", "repeated"), ("_once", "a single run")):
            tops = (rows.value(case, f"simulated_tops{which}_{one}", 1) for one in assumed)
            yield f"{case.removeprefix('gemm_')}, {what}", *tops


def aie_types(rows: Rows) -> Lines:
    """One product by its element types."""
    yield "x, weights, result", "tiles", "cycles", "TOPS", "peak, TOPS", "of it", "bound"
    types = {
        "i16xi8": "int16, int8, int8",
        "bf16": "bfloat16, bfloat16, bfloat16",
        "i16xi16": "int16, int16, int16",
        "i32xi16": "int32, int16, int32",
        "i16xi32": "int16, int32, int32",
        "i32xi32": "int32, int32, int32",
        "to_int32": "int8, int8, int32",
    }
    for which, what in types.items():
        case = f"gemm_512x896x576_{which}"
        tiles, bound = rows.note(case, "simulated_cycles").split(" tiles, repeated runs; bound: ")
        cycles = rows.value(case, "simulated_cycles", 0)
        tops = (rows.value(case, metric, 1) for metric in ("simulated_tops", "peak_tops"))
        share = rows.value(case, "efficiency_percent", 1) + " %"
        yield what, tiles, cycles, *tops, share, bound


def aie_networks(rows: Rows) -> Lines:
    """Pipelines as they are emitted, of programs that were executed and projects that were run."""
    yield (
        "network",
        "tiles",
        "a result every, us",
        "TOPS",
        "limit of the split",
        "assumptions at half / double",
        "emulated here, s of processors",
    )
    from_memory = set(rows.cases("limit_memory_tops"))
    for case in (name for name in rows.cases("limit_tops") if name not in from_memory):
        yield (
            case,
            rows.value(case, "tiles", 0),
            rows.value(case, "simulated_us", 2),
            rows.value(case, "simulated_tops", 1),
            rows.value(case, "limit_tops", 1),
            half_and_double(rows, case, "simulated_tops", 1),
            rows.value(case, "processor_seconds_emulation", 0),
        )


def aie_rest(rows: Rows) -> Lines:
    """Where the array's peak goes in these networks, in percent of it."""
    yield "network", "products", "filled up", "kernels beside products", "waiting", "unused tiles"
    parts = ("products", "padding", "kernels", "waiting", "unused")
    for case in rows.cases("share_products_percent"):
        yield (case, *(rows.value(case, f"share_{part}_percent", 1) for part in parts))


def aie_from_memory(rows: Rows) -> Lines:
    """The same fed by the chip's memory."""
    yield (
        *("network", "tiles", "a result every, us", "TOPS", "limit of the memory, TOPS"),
        *("assumptions at half / double", "emulated here, s of processors"),
    )
    for case in rows.cases("limit_memory_tops"):
        yield (
            *(case.removesuffix("_ddr"), rows.value(case, "tiles", 0)),
            rows.value(case, "simulated_us", 2),
            rows.value(case, "simulated_tops", 1),
            rows.value(case, "limit_memory_tops", 1),
            half_and_double(rows, case, "simulated_tops", 1),
            rows.value(case, "processor_seconds_emulation", 0),
        )


def aie_devices(rows: Rows) -> Lines:
    """One network on three devices, and a wider one."""
    yield "network", "device", "tiles", "simulated, us", "TOPS", "assumptions at half / double, us"
    for case, network, device in (
        ("jet_latency", "jet tagging", "VEK280"),
        ("jet_vek385", "jet tagging", "VEK385"),
        ("jet_vck190", "jet tagging", "VCK190"),
        ("mlp7_128_vck190", "seven of 128x128", "VCK190"),
    ):
        yield (
            *(network, device, rows.value(case, "tiles", 0), rows.value(case, "simulated_us", 2)),
            rows.value(case, "simulated_tops", 2),
            half_and_double(rows, case, "simulated_us", 2),
        )


def aie_phased(rows: Rows) -> Lines:
    """Networks that are too large for the array: graphs of which layers take turns."""
    yield "network", "graphs", "one inference, us", "TOPS", "assumptions at half / double, us"
    for case in rows.cases("graphs"):
        yield (
            case,
            rows.value(case, "graphs", 0),
            rows.value(case, "simulated_us", 0),
            rows.value(case, "simulated_tops", 2),
            " / ".join(f"{micro:,.0f}" for micro in rows.all(case, "simulated_us_varied")),
        )


def aie_latency(rows: Rows) -> Lines:
    """Networks that are compiled for the latency of a single run, likewise."""
    yield "network", "tiles", "a run, us", "a result every, us", "assumptions at half / double, us"
    for case in rows.cases("interval_us"):
        yield (
            case,
            rows.value(case, "tiles", 0),
            rows.value(case, "simulated_us", 2),
            rows.value(case, "interval_us", 2),
            half_and_double(rows, case, "simulated_us", 2),
        )


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
    ways = tuple(f"gru_{way}_h" for way in SINGLE_WAYS)
    for case in (each for each in _in_float32(rows) if not each.startswith(ways)):
        yield (
            case,
            rows.value(case, "tiles", 0),
            rows.value(case, "simulated_us", 3),
            half_and_double(rows, case, "simulated_us", 3),
            rows.value(case, "max_error", 2),
        )


def aie_single_ways(rows: Rows) -> Lines:
    """A GRU's step in float32 by every way that has room."""
    yield "hidden units", *SINGLE_WAYS.values()
    for hidden in (8, 16, 32):
        found = {way: f"gru_{way}_h{hidden}_f32" for way in SINGLE_WAYS}
        known = {way for way, case in found.items() if rows.all(case, "simulated_us")}
        yield hidden, *(_us_and_tiles(rows, found[way]) if way in known else "" for way in found)


#: Ways to spread a GRU in float32 over tiles, as cases and the table call them.
SINGLE_WAYS = {
    "one_tile": "one tile",
    "apart": "inputs apart",
    "pair": "a pair",
    "pairs": "two pairs",
}

#: Ways to spread a GRU over tiles, as cases and the table call them; and published ones.
WAYS = {
    "one_tile": "one tile",
    "apart": "inputs apart",
    "tiles": "units over tiles",
    "neighbours": "neighbours' memories",
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
    yield from _ways(rows, "lstm", PUBLISHED, (16, 32, 48, 64, 128))


def _ways(rows: Rows, kind: str, ways: Sequence[str], sizes: Sequence[int]) -> Lines:
    """A step of such layers by some ways.

    Args:
        rows: of the benchmark.
        kind: "gru" or "lstm".
        ways: keys of `WAYS`.
        sizes: hidden units.
    """
    names = (WAYS[way] for way in ways)
    yield "hidden units", "the search's", *names, "fastest published / the search's"
    for hidden in sizes:
        ours = f"{kind}_h{hidden}_bf16"
        found = {way: f"{kind}_{way}_h{hidden}" for way in ways}
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


def aie_images(rows: Rows) -> Lines:
    """Image networks whose images follow each other."""
    yield (
        "network",
        "tiles",
        "an image alone, us",
        "an image every, us",
        "of it the Arm core",
        "images a second",
        "times as many",
        "assumptions at half / double, us",
    )
    for case in rows.cases("images_per_second"):
        yield (
            case,
            rows.value(case, "tiles", 0),
            rows.value(case, "one_at_a_time_us", 1),
            rows.value(case, "simulated_us", 2),
            rows.value(case, "host_us", 2),
            rows.value(case, "images_per_second", 0),
            rows.value(case, "times_one_at_a_time", 1),
            half_and_double(rows, case, "simulated_us", 2),
        )


def aie_calibration(rows: Rows) -> Lines:
    """Published kernel cycles against ours."""
    yield "rows of the calibration file", "error, %"
    for metric, what in (
        ("mean_error_percent", "that name a variant, mean"),
        ("max_error_percent", "that name a variant, worst"),
        ("mean_error_percent_unfitted", "of those on which nothing is fitted, mean"),
    ):
        yield what, rows.value("calibration", metric, 1)


def xdna_gemms(rows: Rows) -> Lines:
    """Published products of Ryzen AI processors against ours, and the memory rate they imply."""
    headings = "published, TOPS", "simulated", "error, %", "its kernel, %", "shared memory, %"
    own = "own mapping, TOPS", "at half, double", "its DRAM traffic"
    yield "product, types", *headings, "read + written, GB/s", *own
    owned = rows.cases("own_simulated_tops")
    for case in rows.cases("simulated_tops"):
        note = rows.note(case, "simulated_tops")
        error, measured = note.split(" %, published ")
        yield (
            case.replace("_", " "),
            measured.split(";")[0],
            rows.value(case, "simulated_tops", 2),
            error,
            rows.note(case, "simulated_tops_published_kernel").split(" %")[0],
            rows.note(case, "simulated_tops_shared").split(" %")[0],
            f"{rows.value(case, 'implied_memory_rate', 1)} + "
            f"{rows.note(case, 'implied_memory_rate').split()[-1]}",
            *(_own(rows, case) if case in owned else ("", "", "")),
        )
    for metric, what in (
        ("mean_error_percent", "products, mean error"),
        ("max_error_percent", "products, worst"),
        ("mean_error_percent_kernels", "kernels, mean error"),
        ("max_error_percent_kernels", "kernels, worst"),
    ):
        yield what, "", "", rows.value("calibration", metric, 1), *[""] * 6


def _own(rows: Rows, case: str) -> tuple[str, str, str]:
    """The planner's mapping of a product: TOPS, at half and double, DRAM traffic by its least."""
    varied = (rows.value(case, f"own_simulated_tops_x{factor}", 2) for factor in ("0.5", "2"))
    moved = rows.value(case, "own_dram_megabytes", 0)
    ratio, once = (rows.value(case, f"dram_ratio{what}", 2) for what in ("", "_once"))
    least = f"{ratio} x its schedule's least, {once} x everything once"
    return rows.value(case, "own_simulated_tops", 2), ", ".join(varied), f"{moved} MB, {least}"


def xdna_encoder(rows: Rows) -> Lines:
    """Dense layers of Whisper-base's encoder on the arrays of Ryzen AI."""
    yield (
        "array, types",
        "all dense layers, ms",
        "at half, double",
        "TOPS",
        "DRAM by the schedule's least",
        "planning, s",
        "simulation, s",
    )
    for case in rows.cases("dense_milliseconds"):
        varied = (rows.value(case, f"dense_milliseconds_x{factor}", 1) for factor in ("0.5", "2"))
        name, types = case.removeprefix("whisper_base_").removesuffix("_dense").split("_")
        yield (
            f"{name}, {types}",
            rows.value(case, "dense_milliseconds", 1),
            ", ".join(varied),
            rows.value(case, "dense_tops", 1),
            rows.value(case, "dram_ratio", 2),
            rows.value(case, "seconds_planning", 0),
            rows.value(case, "seconds_simulation", 1),
        )
