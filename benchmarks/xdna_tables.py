"""Tables of Ryzen AI arrays: published products, Whisper's encoder."""

from __future__ import annotations

from result_rows import Lines, Rows

#: What rows of an encoder are called, by its element types, or by the device where it is another.
CASES = {types: f"whisper_base_npu1_{types}" for types in ("int8", "bf16")}
CASES |= {"npu2": "whisper_base_npu2_int8", "npu2_bf16": "whisper_base_npu2_bf16"}
CASES |= {"npu2_bfp16": "whisper_base_npu2_bfp16"}


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


def xdna_whisper_npu2(rows: Rows) -> Lines:
    """Likewise in 8 bits on npu2."""
    return xdna_whisper(rows, "npu2")


def xdna_whisper_npu2_bf16(rows: Rows) -> Lines:
    """Likewise in bfloat16 on npu2."""
    return xdna_whisper(rows, "npu2_bf16")


def xdna_whisper_npu2_bfp16(rows: Rows) -> Lines:
    """Likewise with dense layers in block floating point."""
    return xdna_whisper(rows, "npu2_bfp16")


def xdna_times_npu2_bfp16(rows: Rows) -> Lines:
    """How many times faster than real time the encoder is with block floating point."""
    return xdna_times(rows, "npu2_bfp16")


def xdna_times_npu2_bf16(rows: Rows) -> Lines:
    """How many times faster than real time the encoder in bfloat16 is on npu2."""
    return xdna_times(rows, "npu2_bf16")


def xdna_times_npu2(rows: Rows) -> Lines:
    """How many times faster than real time the encoder in 8 bits is on npu2."""
    return xdna_times(rows, "npu2")


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
        ("_in_turn_16_windows", "the same, the processor beside the array"),
        ("_in_turn_apart_16_windows", "16 windows, each shape's own program"),
        ("_in_turn_apart_64_windows", "the same, 64 windows"),
        ("_in_turn_apart_written_16_windows", "16 windows, configured by writes"),
        ("_in_turn_apart_written_64_windows", "the same, 64 windows"),
        ("_in_turn_apart_gelu_16_windows", "16 windows, GELU on the array"),
        ("_in_turn_apart_gelu_written_16_windows", "the same, configured by writes"),
        ("_in_turn_apart_gelu_64_windows", "64 windows, GELU on the array"),
        ("_in_turn_apart_gelu_written_64_windows", "the same, configured by writes"),
        ("_in_turn_apart_cores_64_windows", "64 windows, four cores"),
        ("_in_turn_apart_cores_written_64_windows", "64 windows, four cores, configured by writes"),
        ("_beside", "the same, one configuration"),
        ("_beside_many", "one configuration, 16 windows"),
        ("_beside_64_windows", "one configuration, 64 windows"),
        ("_beside_cores", "one configuration, four cores"),
        ("_beside_many_cores", "one configuration, 16 windows, four cores"),
        ("_beside_64_windows_cores", "one configuration, 64 windows, four cores"),
        ("_halves", "rows on the processor, in two partitions"),
        ("_halves_many", "in two partitions, 16 windows"),
        ("_all_on_array", "all on the array"),
        ("_all_on_array_written", "the same, configured by writes"),
        ("_all_on_array_16_windows", "the same, 16 windows"),
        ("_array_alone", "the array alone"),
        ("_array_alone_shifts", "the same, with shifts"),
        ("_array_alone_shifted", "the same, scores less their largest one"),
    ):
        metric = f"times_real_time{tag}"
        if case not in rows.cases(metric):
            continue
        varied = ", ".join(rows.value(case, f"{metric}_x{factor}", 0) for factor in ("0.5", "2"))
        yield name, rows.value(case, metric, 0), varied, rows.note(case, metric)


def xdna_gemms(rows: Rows) -> Lines:
    """Published products of Ryzen AI processors against ours, and the memory rate they imply."""
    headings = "published, TOPS", "simulated", "error, %", "its kernel, %", "shared memory, %"
    own = "own mapping, TOPS", "at half, double", "its DRAM traffic", "partial sums rounded, TOPS"
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
            *(_own(rows, case) if case in owned else [""] * 4),
        )
    for metric, what in (
        ("mean_error_percent", "products, mean error"),
        ("max_error_percent", "products, worst"),
        ("mean_error_percent_kernels", "kernels, mean error"),
        ("max_error_percent_kernels", "kernels, worst"),
    ):
        yield what, "", "", rows.value("calibration", metric, 1), *[""] * 7


def xdna_kernels(rows: Rows) -> Lines:
    """Published kernels: rates, and cycles that a block takes beside its products."""
    beside = "cycles a block beside products, published", "of these, open", "modelled"
    yield (
        "kernel",
        "published, MAC/cycle",
        "modelled",
        "error, %",
        "error in program order, %",
        *beside,
    )
    for case in rows.cases("published_cycles_beside"):
        error, published = rows.note(case, "macs_per_cycle").split(" %, published ")
        yield (
            case.replace("_", " "),
            published,
            rows.value(case, "macs_per_cycle", 1),
            error,
            rows.note(case, "macs_per_cycle_in_order").split(" %")[0],
            rows.value(case, "published_cycles_beside", 1),
            rows.note(case, "published_cycles_beside").split(":")[0],
            rows.value(case, "cycles_beside", 1),
        )


def _own(rows: Rows, case: str) -> tuple[str, str, str, str]:
    """The planner's mapping: TOPS, at half and double, DRAM traffic; TOPS in rounded sums."""
    varied = (rows.value(case, f"own_simulated_tops_x{factor}", 2) for factor in ("0.5", "2"))
    moved = rows.value(case, "own_dram_megabytes", 0)
    ratio, once = (rows.value(case, f"dram_ratio{what}", 2) for what in ("", "_once"))
    least = f"{ratio} x its schedule's least, {once} x everything once"
    tops, varied_tops = rows.value(case, "own_simulated_tops", 2), ", ".join(varied)
    metric = "own_simulated_tops_published_arithmetic"
    rounded = rows.value(case, metric, 2) if case in rows.cases(metric) else ""
    return tops, varied_tops, f"{moved} MB, {least}", rounded


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
