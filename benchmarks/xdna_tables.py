"""Tables of Whisper's encoder on Ryzen AI arrays."""

from __future__ import annotations

from result_rows import Lines, Rows

#: What rows of an encoder on npu1 are called, by its element types.
CASES = {types: f"whisper_base_npu1_{types}" for types in ("int8", "bf16")}


def xdna_whisper(rows: Rows, types: str = "int8") -> Lines:
    """All of Whisper-base's encoder, layer by layer."""
    yield "layers", "on the array, ms", "copies around them, ms", "on the processor, ms", "plan"
    for case in rows.cases("copies_milliseconds"):
        if not case.startswith(CASES[types]):
            continue
        layers, plan = rows.note(case, "milliseconds").split(": ", 1)
        ms = rows.value(case, "milliseconds", 2), rows.value(case, "copies_milliseconds", 2)
        other = case in rows.cases("processor_milliseconds")
        yield (
            *(layers, *ms),
            rows.value(case, "processor_milliseconds", 2) if other else "",
            plan.rstrip("."),
        )


def xdna_whisper_bf16(rows: Rows) -> Lines:
    """Likewise in bfloat16."""
    return xdna_whisper(rows, "bf16")


def xdna_times_bf16(rows: Rows) -> Lines:
    """How many times faster than real time the encoder in bfloat16 is."""
    return xdna_times(rows, "bf16")


def xdna_times(rows: Rows, types: str = "int8") -> Lines:
    """How many times faster than real time the encoder is, by strategy."""
    yield "Whisper-base's encoder, times real time", "simulated", "at half, double", "what it is"
    case = CASES[types]
    for tag, name in (
        ("_rows_on_processor", "rows on the processor"),
        ("_rows_on_processor_written", "the same, configured by writes"),
        ("_rows_on_processor_16_windows", "the same, 16 windows"),
        ("_beside", "the same, one configuration"),
        ("_beside_many", "one configuration, 16 windows"),
        ("_halves", "the same, in two partitions"),
        ("_halves_many", "in two partitions, 16 windows"),
        ("_all_on_array", "all on the array"),
        ("_all_on_array_written", "the same, configured by writes"),
        ("_all_on_array_16_windows", "the same, 16 windows"),
        ("_array_alone", "the array alone"),
        ("_array_alone_shifts", "the same, with shifts"),
    ):
        metric = f"times_real_time{tag}"
        if case not in rows.cases(metric):
            continue
        varied = ", ".join(rows.value(case, f"{metric}_x{factor}", 0) for factor in ("0.5", "2"))
        yield name, rows.value(case, metric, 0), varied, rows.note(case, metric)
