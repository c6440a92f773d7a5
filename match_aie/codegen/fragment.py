"""A template rendered for whatever it asks for: sources that are not a layer's C function."""

from __future__ import annotations

from mako.exceptions import CompileException, SyntaxException

from match_aie.codegen.layer import indent, library, place
from match_aie.errors import TargetError


def render_template(name: str, /, **view: object) -> str:
    """The text of template `name`, indented by its braces; as `render_text`."""
    return indent(render_text(name, **view))


def render_text(name: str, /, **view: object) -> str:
    """The text of template `name`, as it leaves it.

    Args:
        name: such as "aie/dense.hpp.mako", or "package:path".
        view: what the template reads, by the names it reads them under.

    Raises:
        TargetError: the template is missing or fails; names template and line.
    """
    try:
        text = library().get_template(name).render(**view)
    except TargetError:
        raise
    except (CompileException, SyntaxException) as error:
        raise _broken(f"{error.filename}, line {error.lineno}", error) from error
    except Exception as error:  # a template is code: anything may leave it
        raise _broken(place(name, error), error) from error
    return str(text)


def _broken(where: str, error: Exception) -> TargetError:
    return TargetError(
        f"template {where}: {type(error).__name__}: {error}", hint="mend the template"
    )
