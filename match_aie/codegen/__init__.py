"""From a planned program to the text of a C project."""

from match_aie.codegen.fragment import render_template
from match_aie.codegen.layer import render_layer, template_line
from match_aie.codegen.names import identifier
from match_aie.codegen.page import FILE as PAGE
from match_aie.codegen.page import render_page
from match_aie.codegen.sources import ModelFile, Sources, described, render

__all__ = [
    "PAGE",
    "ModelFile",
    "Sources",
    "described",
    "identifier",
    "render",
    "render_layer",
    "render_page",
    "render_template",
    "template_line",
]
