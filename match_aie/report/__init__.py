"""What users are shown of a compiled network or a target, as text and as JSON."""

from match_aie.report.annotated import annotated
from match_aie.report.nest import NEXT, LayerMapping, mapping_json, mapping_text
from match_aie.report.network import NetworkReport, network_report
from match_aie.report.page import Page, network_page
from match_aie.report.target import target_json, target_text
from match_aie.report.text import (
    as_json,
    compiled_report,
    layer_text,
    refusals_text,
    step_json,
    summary,
    summary_text,
)
from match_aie.report.totals import core_cycles

__all__ = [
    "NEXT",
    "LayerMapping",
    "NetworkReport",
    "Page",
    "annotated",
    "as_json",
    "compiled_report",
    "core_cycles",
    "layer_text",
    "mapping_json",
    "mapping_text",
    "network_page",
    "network_report",
    "refusals_text",
    "step_json",
    "summary",
    "summary_text",
    "target_json",
    "target_text",
]
