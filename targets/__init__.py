"""One folder per chip: target, modules, patterns, facts with sources, runtime C sources."""

if __name__ != "match_aie.targets":
    raise ImportError("this folder installs as match_aie.targets; import it by that name")
