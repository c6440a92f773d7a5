"""The tables of the documents, written between markers from the rows of `benchmarks/results`.

    python benchmarks/tables.py [--check] [--results FOLDER]

In a document `<!-- table NAME -->` begins a table and `<!-- end -->` ends it; what is between is
replaced. `--check` writes nothing and fails where a document holds anything else.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
MARKED = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
GAP9 = ("mobilenet", "resnet8", "dscnn", "dae")
#: Sizes of the int8 networks in the documents' terms.
NAMES = {
    "resnet8_u8": "ResNet8",
    "mobilenetv1_025_u8": "MobileNet 0.25",
    "dscnn_u8": "DS-CNN",
    "dae_u8": "DAE",
}

Lines = Iterator[Sequence[object]]


class Rows:
    """Rows of a results file by case and metric."""

    def __init__(self, rows: Sequence[dict[str, Any]]) -> None:
        """All rows of a file; a metric may come several times."""
        self._found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
        for row in rows:
            self._found[row["case"], row["metric"]].append(row)

    def all(self, case: str, metric: str) -> list[float]:
        """Values of a metric, in order."""
        return [row["value"] for row in self._found[case, metric]]

    def value(self, case: str, metric: str, digits: int = 3) -> str:
        """The value with `digits` after the point.

        Raises:
            KeyError: there is no such row.
        """
        values = self.all(case, metric)
        if not values:
            raise KeyError(f"{case}: {metric}")
        return f"{values[0]:,.{digits}f}"

    def note(self, case: str, metric: str) -> str:
        """What the row says beside its value."""
        return str(self._found[case, metric][0].get("note", ""))

    def cases(self, metric: str) -> list[str]:
        """Cases that have a metric, in order."""
        return [case for case, name in self._found if name == metric]

    def machine(self) -> str:
        """The processor, what else is known of the machine, and the day."""
        (row,) = self._found["machine", "name"]
        return f"{row['value']}, {row['note']}"


def gap9_networks(rows: Rows) -> Lines:
    """Whole networks."""
    yield "network", "simulated ms", "predicted ms", "every layer by itself", "worst LSB (measured)"
    for name in GAP9:
        times = (rows.value(name, m) for m in ("simulated_ms", "predicted_ms", "alone_ms"))
        yield name, *times, rows.value(name, "max_lsb", 0)


def gap9_beside(rows: Rows) -> Lines:
    """Both engines at the same time, and one after the other."""
    yield (
        *("network", "simulated ms", "predicted ms", "both at work, ms"),
        *("one at a time, simulated ms", "shorter by"),
    )
    for name in rows.cases("shorter_percent"):
        metrics = ("simulated_ms", "predicted_ms", "overlap_ms", "one_engine_ms")
        yield (
            name,
            *(rows.value(name, m) for m in metrics),
            f"{rows.value(name, 'shorter_percent', 1)} %",
        )


def gap9_energy(rows: Rows) -> Lines:
    """Energy by what a network is compiled for."""
    yield (
        *("network", "for latency: ms, uJ", "for energy: ms, uJ", "for their product: ms, uJ"),
        *("modelled uJ for latency, energy", "published uJ"),
    )
    for name in GAP9:
        plans = (
            f"{rows.value(name, f'simulated_ms_{o}')}, {rows.value(name, f'simulated_uj_{o}', 1)}"
            for o in ("latency", "energy", "edp")
        )
        modelled = (rows.value(name, f"energy_uj_{o}", 1) for o in ("latency", "energy"))
        yield name, *plans, ", ".join(modelled), rows.value(name, "energy_uj", 1)


def gap9_mappings(rows: Rows) -> Lines:
    """How the cost model ranks mappings."""
    yield (
        *("network", "rank correlation", "within a layer: mean", "least"),
        *("mean error, %", "chosen above the best, at worst, %"),
    )
    for name in GAP9:
        ranks = ("rank_correlation", "rank_correlation_mean", "rank_correlation_min")
        error = rows.value(name, "mapping_error_mean_percent", 2)
        gap = rows.value(name, "chosen_gap_max_percent", 1)
        yield name, *(rows.value(name, metric) for metric in ranks), error, gap


def gap9_modules(rows: Rows) -> Lines:
    """Networks by the modules that may run layers."""
    yield "network", "all", "cluster and core", "NE16 and core", "core"
    for name in GAP9:
        modules = ("all", "cluster", "ne16", "cpu")
        yield name, *(rows.value(f"{name}/modules {m}", "total_ms", 2) for m in modules)


def gap9_l1(rows: Rows) -> Lines:
    """Networks by kilobytes of L1."""
    sizes = (128, 64, 32, 24, 16, 12, 8)
    yield "network", *sizes
    for name in GAP9:
        yield name, *(rows.value(f"{name}/l1 {size} kB", "simulated_ms") for size in sizes)


def gap9_time(rows: Rows) -> Lines:
    """What compiling takes."""
    yield "MobileNet", "seconds (measured)"
    yield (
        "compile, cold cache, beyond `import tvm`",
        rows.value("mobilenet", "compile_cpu_seconds", 1) + " of processor time",
    )
    yield "simulate", rows.value("mobilenet", "simulate_seconds", 2) + " of wall-clock time"


def diana_networks(rows: Rows) -> Lines:
    """Networks on DIANA."""
    yield (
        *("network", "steps on the array", "in all, ms", "integers to integers, ms"),
        *("array cycles predicted", "simulated"),
    )
    for name in rows.cases("simulated_ms"):
        on_array = rows.note(name, "simulated_ms").split(" steps")[0]
        how = "modelled" if on_array.startswith("0 ") else "simulated"
        cycles = (rows.value(name, m, 0) for m in ("array_predicted_cycles", "array_cycles"))
        times = (rows.value(name, metric, 2) for metric in ("simulated_ms", "integer_ms"))
        yield (*(name, on_array), *(f"{time} ({how})" for time in times), *cycles)


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


def cpu_networks(rows: Rows) -> Lines:
    """The int8 networks beside onnxruntime."""
    yield "model (`_u8`)", "this, us", "onnxruntime, us", "ratio"
    for name, label in NAMES.items():
        ours, theirs = (
            f"{1e3 * rows.all(name, metric)[0]:.4g}"
            for metric in ("milliseconds", "milliseconds_onnxruntime")
        )
        yield label, ours, theirs, rows.value(name, "speedup_vs_onnxruntime", 2)


def byoc_networks(rows: Rows) -> Lines:
    """TVM with our layers, beside TVM, match_aie and onnxruntime."""
    engines = ("tvm", "tvm_match_aie", "match_aie", "onnxruntime")
    yield (
        *("network", "TVM, ms", "TVM with `CPU()` layers, ms", "match_aie, ms", "onnxruntime, ms"),
        *("faster than TVM", "times match_aie"),
    )
    for name in rows.cases("speedup_vs_tvm"):
        times = (rows.value(name, f"milliseconds_{engine}", 4) for engine in engines)
        speedup = rows.value(name, "speedup_vs_tvm", 0) + " x"
        yield f"`{name}`", *times, speedup, rows.value(name, "ratio_to_match_aie", 2)


def cpu_prediction(rows: Rows) -> Lines:
    """The cost model of the CPU."""
    found = [rows.all(case, "chosen_over_best")[0] for case in rows.cases("chosen_over_best")]
    apart = [rows.all(case, "chosen_apart")[0] for case in rows.cases("chosen_apart")]
    yield "what", "measured"
    yield "layers timed", len(rows.cases("microseconds"))
    yield "rank correlation with modelled cycles", rows.value("layers", "rank_correlation", 2)
    yield (
        f"chosen blocking over the best of 20 random ones, {len(found)} layers",
        f"{min(found):.2f} to {max(found):.2f}",
    )
    yield "the same blocking twice differs by at most", f"{100 * max(apart):.1f} %"


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


def aie_networks(rows: Rows) -> Lines:
    """Pipelines as they are emitted, of programs that were executed."""
    yield (
        "network",
        "tiles",
        "a result every, us",
        "TOPS",
        "limit of the split",
        "assumptions at half / double",
    )
    from_memory = set(rows.cases("limit_memory_tops"))
    for case in (name for name in rows.cases("limit_tops") if name not in from_memory):
        varied = (f"simulated_tops_{which}" for which in ("half", "double"))
        yield (
            case,
            rows.value(case, "tiles", 0),
            rows.value(case, "simulated_us", 2),
            rows.value(case, "simulated_tops", 1),
            rows.value(case, "limit_tops", 1),
            " / ".join(rows.value(case, metric, 1) for metric in varied),
        )


def aie_latency(rows: Rows) -> Lines:
    """Networks that are compiled for the latency of a single run, likewise."""
    yield "network", "tiles", "a run, us", "a result every, us", "assumptions at half / double, us"
    for case in rows.cases("interval_us"):
        varied = (f"simulated_us_{which}" for which in ("half", "double"))
        yield (
            case,
            rows.value(case, "tiles", 0),
            rows.value(case, "simulated_us", 2),
            rows.value(case, "interval_us", 2),
            " / ".join(rows.value(case, metric, 2) for metric in varied),
        )


def aie_recurrent(rows: Rows) -> Lines:
    """Steps of recurrent layers that fit the array, likewise."""
    yield "layer", "tiles", "a step, us", "assumptions at half / double, us", "largest error"
    for case in rows.cases("simulated_us_half"):
        varied = (f"simulated_us_{which}" for which in ("half", "double"))
        yield (
            case,
            rows.value(case, "tiles", 0),
            rows.value(case, "simulated_us", 3),
            " / ".join(rows.value(case, metric, 3) for metric in varied),
            rows.value(case, "max_error", 4),
        )


def aie_attention(rows: Rows) -> Lines:
    """Heads of attention, resident, runs repeated."""
    share, varied = "share of these tiles' peak, %", "assumptions at half / double, %"
    yield "layer", "tiles", "a run, us", share, varied, "largest error, steps"
    for case in rows.cases("share_of_peak"):
        each = (f"share_of_peak_{which}" for which in ("half", "double"))
        yield (
            case,
            rows.value(case, "tiles", 0),
            rows.value(case, "simulated_us", 1),
            rows.value(case, "share_of_peak", 1),
            " / ".join(rows.value(case, metric, 1) for metric in each),
            rows.value(case, "max_error", 1),
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
        varied = (f"simulated_us_{which}" for which in ("half", "double"))
        yield (
            case,
            rows.value(case, "tiles", 0),
            rows.value(case, "one_at_a_time_us", 1),
            rows.value(case, "simulated_us", 2),
            rows.value(case, "host_us", 2),
            rows.value(case, "images_per_second", 0),
            rows.value(case, "times_one_at_a_time", 1),
            " / ".join(rows.value(case, metric, 2) for metric in varied),
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
    yield "product, types", "published, TOPS", "simulated", "error, %", "implied memory rate, GB/s"
    for case in rows.cases("simulated_tops"):
        note = rows.note(case, "simulated_tops")
        error, measured = note.split(" %, published ")
        yield (
            case.replace("_", " "),
            measured.split(";")[0],
            rows.value(case, "simulated_tops", 2),
            error,
            rows.value(case, "implied_memory_rate", 1),
        )
    for metric, what in (
        ("mean_error_percent", "products, mean error"),
        ("max_error_percent", "products, worst"),
        ("mean_error_percent_kernels", "kernels, mean error"),
        ("max_error_percent_kernels", "kernels, worst"),
    ):
        yield what, "", "", rows.value("calibration", metric, 1), ""


def model_networks(rows: Rows) -> Lines:
    """Networks of the forms that packages ship."""
    yield (
        *("network", "times as fast", "ms", "of it products in modules", "largest error"),
        "peak memory, times the other's",
    )
    for case in rows.cases("speedup_vs_reference"):
        yield (
            f"`{case}`",
            rows.value(case, "speedup_vs_reference", 2),
            rows.value(case, "milliseconds", 2),
            rows.value(case, "macs_in_modules_percent", 0) + " %",
            f"{rows.all(case, 'max_relative_error')[0]:.0e}",
            rows.value(case, "peak_memory_ratio", 2),
        )


def model_constructs(rows: Rows) -> Lines:
    """Constructs on four targets: difference, share of products in modules."""
    targets = ("CPU", "GAP9", "DIANA", "VersalAIEML")
    yield "construct", *targets
    for case in rows.cases("difference_CPU"):
        cells = []
        for target in targets:
            apart = rows.all(case, f"difference_{target}")
            if apart:
                share = rows.value(case, f"macs_percent_{target}", 0)
                cells.append(f"{apart[0]:.0e}, {share} %")
            else:
                cells.append(rows.note(case, f"refused_{target}"))
        yield case, *cells


def model_files(rows: Rows) -> Lines:
    """Files inside packages, by outcome."""
    yield "package: file", "outcome", "difference"
    for case in rows.cases("difference"):
        apart = rows.all(case, "difference")[0]
        yield case, rows.note(case, "difference"), "" if apart is None else f"{apart:.0e}"


#: Name in a document -> the results file and what makes the table of it.
TABLES: dict[str, tuple[str, Callable[[Rows], Lines]]] = {
    "gap9_networks": ("gap9", gap9_networks),
    "gap9_mappings": ("gap9", gap9_mappings),
    "gap9_modules": ("gap9", gap9_modules),
    "gap9_l1": ("gap9", gap9_l1),
    "gap9_time": ("gap9", gap9_time),
    "gap9_beside": ("gap9_beside", gap9_beside),
    "gap9_energy": ("gap9_energy", gap9_energy),
    "diana_networks": ("diana", diana_networks),
    "versal_networks": ("versal", versal_networks),
    "versal_dense": ("versal_layers", versal_dense),
    "versal_products": ("versal_layers", versal_products),
    "versal_differences": ("versal_layers", versal_differences),
    "byoc_networks": ("byoc", byoc_networks),
    "cpu_networks": ("cpu", cpu_networks),
    "cpu_prediction": ("cpu_prediction", cpu_prediction),
    "aie_tiles": ("aie_layer", aie_tiles),
    "aie_gemms": ("aie_layer", aie_gemms),
    "aie_networks": ("aie_network", aie_networks),
    "aie_latency": ("aie_network", aie_latency),
    "aie_recurrent": ("aie_sequence", aie_recurrent),
    "aie_attention": ("aie_sequence", aie_attention),
    "aie_images": ("aie_network", aie_images),
    "model_networks": ("models", model_networks),
    "model_constructs": ("constructs", model_constructs),
    "model_files": ("shipped", model_files),
    "aie_calibration": ("aie_layer", aie_calibration),
    "xdna_gemms": ("xdna", xdna_gemms),
}


def table(name: str, results: Path = RESULTS) -> str:
    """A table of the documents in Markdown, with the file and the machine that its numbers are of.

    Raises:
        KeyError: no such table, or a row that it needs is not in the file.
    """
    file, lines = TABLES[name]
    rows = Rows(json.loads((results / f"{file}.json").read_text()))
    head, *body = ([str(cell) for cell in line] for line in lines(rows))
    text = [head, ["---"] * len(head), *body]
    written = "\n".join("| " + " | ".join(cells) + " |" for cells in text)
    return f"\n{written}\n\n(`{file}.json`: {rows.machine()})\n"


def rewritten(text: str, results: Path = RESULTS) -> str:
    """A document with the tables between its markers made anew."""
    return MARKED.sub(lambda found: found[1] + table(found[2], results) + found[3], text)


def write(results: Path = RESULTS, *, check: bool = False) -> list[str]:
    """Documents whose tables were others than what the results say; `check`: they stay so."""
    stale = []
    for document in (ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))):
        old = document.read_text("utf-8")
        new = rewritten(old, results)
        if new != old:
            stale.append(document.name)
            if not check:
                document.write_text(new, "utf-8")
    return stale


def main() -> None:
    """Write the documents, or check them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--results", type=Path, default=RESULTS)
    options = parser.parse_args()
    stale = write(options.results, check=options.check)
    if options.check and stale:
        sys.exit(f"not what the results say: {', '.join(stale)}; run benchmarks/tables.py")


if __name__ == "__main__":
    main()
