"""Analytical cost models: pure functions of workload and mapping, every constant cited."""

if __name__ != "match_aie.cost_models":
    raise ImportError("this folder installs as match_aie.cost_models; import it by that name")
