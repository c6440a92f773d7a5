"""What the vendor's tools take beside the graphs: a program, its data, and commands."""

from match_aie.targets.aie_ml.vendor.golden import Golden
from match_aie.targets.aie_ml.vendor.job import Job
from match_aie.targets.aie_ml.vendor.units import vendor_files, vendor_units

__all__ = ["Golden", "Job", "vendor_files", "vendor_units"]
