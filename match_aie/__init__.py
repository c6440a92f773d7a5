"""match_aie: compiles neural networks for heterogeneous chips."""
