"""AI Engine arrays of the AIE-ML family: device facts, kernels, host emulation."""

from match_aie.targets.aie_ml.devices import Device, Tiling
from match_aie.targets.aie_ml.known import device, devices

__all__ = ["Device", "Tiling", "device", "devices"]
