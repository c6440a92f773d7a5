"""Mako layer templates, one folder per chip; only `match_aie.codegen` opens them."""

if __name__ != "match_aie.templates":
    raise ImportError("this folder installs as match_aie.templates; import it by that name")
