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
import gap9_tables
import prose
import sequence_tables
import xdna_tables
from result_rows import Lines, Rows

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results"
MARKED = re.compile(r"(<!-- table (\w+) -->\n).*?(<!-- end -->)", re.DOTALL)
#: Sizes of the int8 networks in the documents' terms.
NAMES = {
    "resnet8_u8": "ResNet8",
    "mobilenetv1_025_u8": "MobileNet 0.25",
    "dscnn_u8": "DS-CNN",
    "dae_u8": "DAE",
}


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
    "gap9_networks": ("gap9", gap9_tables.gap9_networks),
    "gap9_mappings": ("gap9", gap9_tables.gap9_mappings),
    "gap9_modules": ("gap9", gap9_tables.gap9_modules),
    "gap9_gvsoc": ("gap9_gvsoc", gap9_tables.gap9_gvsoc),
    "gap9_l1": ("gap9", gap9_tables.gap9_l1),
    "gap9_time": ("gap9", gap9_tables.gap9_time),
    "gap9_sequences": ("gap9_sequences", gap9_tables.gap9_sequences),
    "gap9_floats": ("gap9_floats", gap9_tables.gap9_floats),
    "gap9_beside": ("gap9_beside", gap9_tables.gap9_beside),
    "gap9_banks": ("gap9_beside", gap9_tables.gap9_banks),
    "gap9_energy": ("gap9_energy", gap9_tables.gap9_energy),
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
