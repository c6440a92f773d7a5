"""AMD Versal devices with an AI Engine array: whole networks, the Arm core running what is left."""

from match_aie.targets.versal.target import VersalAIEML

__all__ = ["VersalAIEML"]
