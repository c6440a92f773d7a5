"""Random quantised networks for every instruction set of the CPU target."""

from __future__ import annotations

import tempfile
from pathlib import Path

from tests.arch_networks import ARCHS, check_network
from tests.fuzzing.judge import Verdict, one_line, untyped


def arch_cases() -> dict[str, str]:
    """Architecture by the name of its row."""
    return {f"arch_{name}": name for name in ARCHS}


def judge_arch(arch: str, seed: int) -> Verdict:
    """Compile for `arch`, run here (emulated where this machine has not the instructions)."""
    from match_aie.errors import InternalError, MatchError, ToolchainError

    with tempfile.TemporaryDirectory(prefix="fuzz_") as folder:
        try:
            found = check_network(arch, seed, Path(folder))
        except (InternalError, ToolchainError) as error:
            return Verdict("crashed", one_line(error), type(error).__name__)
        except MatchError as error:
            return Verdict("refused", one_line(error), type(error).__name__)
        except Exception as error:  # noqa: BLE001  whatever else comes is what is looked for
            return Verdict("crashed", *untyped(error))
    for layer in found.mismatches:
        return Verdict("wrong", f"layer {layer}"[:300], "layer differs from its reference")
    return Verdict("passed")
