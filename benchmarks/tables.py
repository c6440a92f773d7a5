"""The tables of the documents, written between markers from the rows of `benchmarks/results`.

    python benchmarks/tables.py [--check] [--results FOLDER]

In a document `<!-- table NAME -->` begins a table and `<!-- end -->` ends it; what is between is
replaced. So are figures in sentences (`prose.py`). `--check` writes nothing and fails where a
document holds anything else.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Callable
from pathlib import Path

import array_tables
import prose
import sequence_tables
import xdna_tables
from result_rows import Lines, Rows

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
        *("one at a time, simulated ms", "shorter by", "more in the first run, ms"),
    )
    for name in rows.cases("shorter_percent"):
        metrics = ("simulated_ms", "predicted_ms", "overlap_ms", "one_engine_ms")
        yield (
            name,
            *(rows.value(name, m) for m in metrics),
            f"{rows.value(name, 'shorter_percent', 1)} %",
            rows.value(name, "first_run_more_ms"),
        )


#: Banks and cores that the default's plan is simulated with, too; rules that plans are for alone.
GAP9_BANKS = (
    *("in_turn_9_cores", "priority_8_cores", "in_turn_8_cores"),
    *("priority", "in_turn", "assumed"),
)


def gap9_banks(rows: Rows) -> Lines:
    """Both engines by who gets a bank of L1 that both ask for: the default's plan, and others."""
    yield (
        *("network", "one at a time, ms", "default: PULP's banks", "GVSoC's banks"),
        *("PULP's, seven workers", "GVSoC's, seven workers"),
        *("planned for PULP's alone", "for GVSoC's alone", "most favourable, assumed, alone"),
    )
    for name in rows.cases("shorter_percent"):
        found = [
            (rows.value(name, ms), rows.value(name, shorter, 1))
            for ms, shorter in (
                ("simulated_ms", "shorter_percent"),
                *((f"{at}_ms", f"{at}_shorter_percent") for at in GAP9_BANKS),
            )
        ]
        one = rows.value(name, "one_engine_ms")
        yield (name, one, *(f"{ms}, {shorter} %" for ms, shorter in found))


def gap9_sequences(rows: Rows) -> Lines:
    """A transformer and recurrent networks."""
    yield (
        *("network", "simulated ms", "predicted ms", "simulated uJ", "control core alone, ms"),
        *("worst LSB (measured)", "worst of the float bound (measured)"),
    )
    for name in rows.cases("core_ms"):
        times = (rows.value(name, m) for m in ("simulated_ms", "predicted_ms"))
        used = rows.value(name, "bound_used_percent", 0)
        yield (
            *(name, *times, rows.value(name, "simulated_uj", 1), rows.value(name, "core_ms", 1)),
            *(rows.value(name, "max_lsb", 0), f"{used} %" if used != "0" else "no floats"),
        )


def gap9_floats(rows: Rows) -> Lines:
    """Float32 networks on the cluster, with products of 16 bits or without."""
    short = ("simulated ms, predicted", "off, ppm", "worst of the bound")
    yield (
        *("network", "control core alone, ms", "float32: simulated ms, predicted", "off, ppm"),
        *(f"fp16: {short[0]}", *short[1:], f"bf16: {short[0]}", *short[1:]),
    )
    for name in GAP9:
        found = []
        for way in ("float32", "fp16", "bf16"):
            times = (rows.value(name, f"{m}_ms_{way}") for m in ("simulated", "predicted"))
            found += [", ".join(times), rows.value(name, f"off_ppm_{way}", 0)]
            if way != "float32":
                found.append(f"{rows.value(name, f'bound_used_percent_{way}', 0)} %")
        yield name, rows.value(name, "core_ms", 1), *found


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
    """Networks by the modules that may run layers, with their energy."""
    yield "network, ms, uJ", "all", "cluster and core", "NE16 and core", "core"
    for name in GAP9:
        cases = [f"{name}/modules {m}" for m in ("all", "cluster", "ne16", "cpu")]
        figures = ("total_ms", 2), ("energy_uj", 1)
        yield name, *(", ".join(rows.value(c, *figure) for figure in figures) for c in cases)


def gap9_gvsoc(rows: Rows) -> Lines:
    """What GVSoC timed and the simulator says."""
    yield "rows", "mean error, %", "worst, %"
    for name, case in (("marked fit, but not fitted", "gvsoc/fitted"), ("held back", "gvsoc")):
        metrics = ("mean_error_percent", "max_error_percent")
        yield name, *(rows.value(case, metric, 1) for metric in metrics)


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
        *("array cycles predicted", "simulated", "array, uJ (modelled)"),
    )
    for name in rows.cases("simulated_ms"):
        on_array = rows.note(name, "simulated_ms").split(" steps")[0]
        how = "modelled" if on_array.startswith("0 ") else "simulated"
        cycles = (rows.value(name, m, 0) for m in ("array_predicted_cycles", "array_cycles"))
        times = (rows.value(name, metric, 2) for metric in ("simulated_ms", "integer_ms"))
        energy = rows.value(name, "energy_uj", 2)
        yield (*(name, on_array), *(f"{time} ({how})" for time in times), *cycles, energy)


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


def sizes(rows: Rows) -> Lines:
    """One program for a range of sizes, at several of them."""
    yield (
        *("words", "this, ms", "onnxruntime, ms", "times as fast"),
        *("compiled for it alone, ms", "same bytes", "difference"),
    )
    for case in rows.cases("speedup_vs_reference"):
        metrics = ("milliseconds", "milliseconds_reference", "speedup_vs_reference")
        yield (
            case.removesuffix(" words"),
            *(rows.value(case, metric, 2) for metric in metrics),
            rows.value(case, "milliseconds_alone", 2),
            "yes" if rows.all(case, "same_bytes")[0] else "no",
            f"{1e-6 * rows.all(case, 'max_abs')[0]:.0e}",
        )


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


def model_programs(rows: Rows) -> Lines:
    """Networks as programs of their own, beside onnxruntime."""
    yield (
        *("network", "memory, times onnxruntime's process", "times what its session adds"),
        *("first result, times its", "most memory", "time to the first result"),
    )
    for case in rows.cases("first_result_ratio"):
        yield (
            f"`{case}`",
            rows.value(case, "peak_memory_ratio", 2),
            rows.value(case, "peak_memory_ratio_session", 2),
            rows.value(case, "first_result_ratio", 2),
            rows.note(case, "peak_memory_ratio").partition(",")[0],
            rows.note(case, "first_result_ratio").partition(" from")[0],
        )


def model_constructs(rows: Rows) -> Lines:
    """Constructs on four targets: difference, share of products in modules, speed of the CPU's."""
    targets = ("CPU", "GAP9", "DIANA", "VersalAIEML")
    yield "construct", "CPU", "times as fast", "us", *targets[1:]
    done, refused = rows.cases("difference_CPU"), rows.cases("refused_CPU")
    for case in (*done, *refused):
        cells = [_outcome(rows, case, target) for target in targets]
        timed = bool(rows.all(case, "speedup_vs_reference"))
        speed = rows.value(case, "speedup_vs_reference", 2) if timed else ""
        micro = rows.value(case, "microseconds", 1) if timed else ""
        yield case, cells[0], speed, micro, *cells[1:]


def _outcome(rows: Rows, case: str, target: str) -> str:
    """Difference and share of products in modules, or why it was refused; "" of no row."""
    apart = rows.all(case, f"difference_{target}")
    if not apart:
        refused = rows.all(case, f"refused_{target}")
        return rows.note(case, f"refused_{target}") if refused else ""
    if not rows.all(case, f"macs_percent_{target}"):
        return f"{apart[0]:.0e}"
    return f"{apart[0]:.0e}, {rows.value(case, f'macs_percent_{target}', 0)} %"


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
    "gap9_gvsoc": ("gap9_gvsoc", gap9_gvsoc),
    "gap9_l1": ("gap9", gap9_l1),
    "gap9_time": ("gap9", gap9_time),
    "gap9_sequences": ("gap9_sequences", gap9_sequences),
    "gap9_floats": ("gap9_floats", gap9_floats),
    "gap9_beside": ("gap9_beside", gap9_beside),
    "gap9_banks": ("gap9_beside", gap9_banks),
    "gap9_energy": ("gap9_energy", gap9_energy),
    "diana_networks": ("diana", diana_networks),
    "versal_networks": ("versal", array_tables.versal_networks),
    "versal_dense": ("versal_layers", array_tables.versal_dense),
    "versal_products": ("versal_layers", array_tables.versal_products),
    "versal_differences": ("versal_layers", array_tables.versal_differences),
    "byoc_networks": ("byoc", byoc_networks),
    "cpu_networks": ("cpu", cpu_networks),
    "cpu_prediction": ("cpu_prediction", cpu_prediction),
    "aie_tiles": ("aie_layer", array_tables.aie_tiles),
    "aie_gemms": ("aie_layer", array_tables.aie_gemms),
    "aie_cascades": ("aie_layer", array_tables.aie_cascades),
    "aie_types": ("aie_layer", array_tables.aie_types),
    "aie_networks": ("aie_network", array_tables.aie_networks),
    "aie_rest": ("aie_network", array_tables.aie_rest),
    "aie_from_memory": ("aie_network", array_tables.aie_from_memory),
    "aie_devices": ("aie_network", array_tables.aie_devices),
    "aie_phased": ("aie_network", array_tables.aie_phased),
    "aie_latency": ("aie_network", array_tables.aie_latency),
    "aie_recurrent": ("aie_sequence", sequence_tables.aie_recurrent),
    "aie_single": ("aie_sequence", sequence_tables.aie_single),
    "aie_single_ways": ("aie_sequence", sequence_tables.aie_single_ways),
    "aie_recurrent_ways": ("aie_sequence", sequence_tables.aie_recurrent_ways),
    "aie_lstm_ways": ("aie_sequence", sequence_tables.aie_lstm_ways),
    "aie_int8_ways": ("aie_sequence", sequence_tables.aie_int8_ways),
    "aie_int8_lstm_ways": ("aie_sequence", sequence_tables.aie_int8_lstm_ways),
    "aie_recurrent_networks": ("aie_sequence", sequence_tables.aie_recurrent_networks),
    "aie_blocks": ("aie_sequence", sequence_tables.aie_blocks),
    "aie_rows": ("aie_rows", sequence_tables.aie_rows),
    "aie_attention": ("aie_sequence", sequence_tables.aie_attention),
    "aie_images": ("aie_network", array_tables.aie_images),
    "model_networks": ("models", model_networks),
    "sizes": ("sizes", sizes),
    "model_programs": ("models_static", model_programs),
    "model_constructs": ("constructs", model_constructs),
    "model_files": ("shipped", model_files),
    "aie_calibration": ("aie_layer", array_tables.aie_calibration),
    "xdna_gemms": ("xdna", xdna_tables.xdna_gemms),
    "xdna_kernels": ("xdna", xdna_tables.xdna_kernels),
    "xdna_encoder": ("xdna", xdna_tables.xdna_encoder),
    "xdna_whisper": ("xdna", xdna_tables.xdna_whisper),
    "xdna_times": ("xdna", xdna_tables.xdna_times),
    "xdna_whisper_npu2": ("xdna", xdna_tables.xdna_whisper_npu2),
    "xdna_times_npu2": ("xdna", xdna_tables.xdna_times_npu2),
    "xdna_whisper_npu2_bf16": ("xdna", xdna_tables.xdna_whisper_npu2_bf16),
    "xdna_times_npu2_bf16": ("xdna", xdna_tables.xdna_times_npu2_bf16),
    "xdna_whisper_npu2_bfp16": ("xdna", xdna_tables.xdna_whisper_npu2_bfp16),
    "xdna_times_npu2_bfp16": ("xdna", xdna_tables.xdna_times_npu2_bfp16),
    "xdna_whisper_bf16": ("xdna", xdna_tables.xdna_whisper_bf16),
    "xdna_times_bf16": ("xdna", xdna_tables.xdna_times_bf16),
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
    """A document with the tables and figures between its markers made anew."""
    made = MARKED.sub(lambda found: found[1] + table(found[2], results) + found[3], text)
    return prose.rewritten(made, results)


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
