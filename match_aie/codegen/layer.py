"""One layer as C text: its template, given a view of the layer's numbers."""

from __future__ import annotations

import re
from functools import cache

from mako.exceptions import CompileException, RichTraceback, SyntaxException
from mako.template import Template

from match_aie import templates
from match_aie.codegen.view import LayerView, layer_view
from match_aie.errors import InternalError, TargetError
from match_aie.hardware import ExecModule
from match_aie.lowering import LayerProgram


def render_layer(layer: LayerProgram, module: ExecModule) -> str:
    """The C definition of `layer`, a static function of C11 that ends in a newline.

    Needs <stdint.h> and <math.h>. The parameters are the workload's operands in order, constants
    in the layout of `module.pack`, then `uint8_t *restrict scratch` where the module asks for it.

    Raises:
        TargetError: the template is missing or fails; names template, line and layer.
        InternalError: the layer is another module's.
    """
    if layer.module != module.name:
        raise InternalError(f"layer {layer.symbol} is of module {layer.module}, not {module.name}")
    return render_view(layer.template, layer_view(layer, module))


def render_view(name: str, view: LayerView) -> str:
    """The text of template `name` for `view`, indented by its braces.

    Raises:
        TargetError: the template is missing or fails; names template, line and layer.
    """
    try:
        text = library().get_template(name).render(layer=view)
    except TargetError:
        raise
    except (CompileException, SyntaxException) as error:
        raise _broken(f"{error.filename}, line {error.lineno}", error, view) from error
    except Exception as error:  # a template is code: anything may leave it
        raise _broken(place(name, error), error, view) from error
    return indent(str(text))


class _Library:
    """Templates by path, read through `match_aie.templates`, each compiled once.

    What Mako asks of a lookup: `get_template` and `adjust_uri`.
    """

    def __init__(self) -> None:
        self._compiled: dict[str, Template] = {}

    def get_template(self, uri: str) -> Template:
        """The template called `uri`: a path below templates/, or "package:path"."""
        if uri not in self._compiled:
            self._compiled[uri] = Template(
                text=templates.source(uri),
                filename=uri,
                uri=uri,
                lookup=self,
                strict_undefined=True,
            )
        return self._compiled[uri]

    def adjust_uri(self, uri: str, relativeto: str | None) -> str:
        """References between templates are such names too, wherever they stand."""
        del relativeto
        return uri


@cache
def library() -> _Library:
    """The templates of this process, compiled once."""
    return _Library()


def place(name: str, error: Exception) -> str:
    """Template and line where rendering failed, the innermost template first."""
    for record in reversed(RichTraceback(error=error, traceback=error.__traceback__).records):
        template, line, text = record[4], record[5], record[7]
        if line is not None:
            return f"{template}, line {line or _first_line(text, error)}"
    return name


def _first_line(text: str, error: Exception) -> int:
    """Where the name that `error` quotes first stands; Mako looks names up before line 1."""
    missing = re.search(r"'(\w+)'", str(error))
    for number, line in enumerate(text.splitlines(), start=1):
        if missing and re.search(rf"\b{missing[1]}\b", line):
            return number
    return 1


def template_line(name: str, text: str) -> int | None:
    """The line of template `name` that may have given the line `text` of C, from 1; None for none.

    Expressions may have given anything. Of several lines the one with the most letters of its own.
    """
    try:
        lines = templates.source(name).splitlines()
    except TargetError:  # the project has been carried to where the target is not installed
        return None
    wanted = " ".join(text.split())
    fitting = []
    for number, line in enumerate(lines, start=1):
        own = re.sub(r"\$\{.*?\}", "\0", " ".join(line.split()))
        pattern = ".*".join(map(re.escape, own.split("\0")))
        letters = len(own) - own.count("\0")
        if letters > 1 and re.fullmatch(pattern, wanted):
            fitting.append((letters, -number))
    return -max(fitting)[1] if fitting else None


def _broken(place: str, error: Exception, view: LayerView) -> TargetError:
    return TargetError(
        f"layer template {place}: {type(error).__name__}: {error}",
        where=f"layer {view.symbol} ({view.summary})",
        hint="mend the template, or make the pattern refuse this workload",
    )


def indent(text: str) -> str:
    """Indent by braces; no trailing blanks, no empty lines within a function.

    Templates indent for their own readers; what their directives leave behind ends here.
    """
    lines: list[str] = []
    depth = 0
    for line in (raw.strip() for raw in text.strip().splitlines()):
        if line:
            level = 0 if line.startswith("#") else depth - line.startswith("}")
            lines.append("    " * level + line)
        elif not depth and lines[-1]:
            lines.append("")
        depth += line.count("{") - line.count("}")
    return "\n".join(lines) + "\n"
