"""The documents' tables of AI Engine arrays: Versal, what layers and networks take."""

from __future__ import annotations

from result_rows import Lines, Rows, half_and_double


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
