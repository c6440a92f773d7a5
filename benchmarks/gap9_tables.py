"""The tables of GAP9, line by line, from the rows of `benchmarks/results`."""

from __future__ import annotations

from result_rows import Lines, Rows

GAP9 = ("mobilenet", "resnet8", "dscnn", "dae")


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
