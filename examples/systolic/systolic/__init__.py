"""Target Systolic for match_aie: see `systolic.target`."""
