"""The API reference: a page made of docstrings while the site is built."""

from __future__ import annotations

import importlib
import inspect
import re
from collections.abc import Iterator
from types import ModuleType

#: What the reference shows, in order: title, package, and names where not all public ones.
SHOWN: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("Compile and load", "match_aie", ("compile", "load", "Limits")),
    ("What was compiled", "match_aie.compilation", ("Compilation",)),
    ("Projects", "match_aie.toolchain", ()),
    ("Errors", "match_aie.errors", ()),
    ("Search", "match_aie.mapping", ("SearchOptions",)),
    ("CPU", "match_aie.targets.cpu", ("CPU", "CPUModule")),
    ("GAP9", "match_aie.targets.gap9", ("GAP9",)),
    ("Versal", "match_aie.targets.versal", ("VersalAIEML",)),
    ("Ryzen AI", "match_aie.targets.xdna", ("XDNA",)),
    ("DIANA", "match_aie.targets.diana", ("Diana",)),
    ("Describing a chip", "match_aie.hardware", ()),
    ("Layers", "match_aie.workload", ()),
    ("Checking a target", "match_aie.testing", ()),
    ("Figures", "match_aie.report.figures", ()),
    ("Inside TVM", "match_aie.byoc", ()),
)

#: Begins a part of a docstring, such as `Args:`.
PART = re.compile(r"^(Args|Attributes|Returns|Yields|Raises):$")
ITEM = re.compile(r"^    (\*{0,2}[\w.]+): (.*)$")


def page() -> str:
    """The whole page as Markdown.

    Raises:
        AttributeError: a name that is shown is not there.
    """
    lines = ["# API reference", "", "Made from the docstrings of the installed version.", ""]
    for title, package, names in SHOWN:
        module = importlib.import_module(package)
        lines += [f"## {title}", "", f"`{package}`", ""]
        for name in names or public(module):
            lines += described(f"{package}.{name}", getattr(module, name))
    return "\n".join(lines) + "\n"


def public(module: ModuleType) -> list[str]:
    """Functions and classes that a package offers, in its order."""
    name = module.__name__
    own = [n for n, it in vars(module).items() if getattr(it, "__module__", "") == name]
    offered = getattr(module, "__all__", own)
    found = ((name, getattr(module, name)) for name in offered if not name.startswith("_"))
    return [name for name, it in found if inspect.isclass(it) or inspect.isfunction(it)]


def described(name: str, it: object) -> Iterator[str]:
    """A class with its public members, or a function."""
    yield from (f"### {name.rpartition('.')[2]}", "")
    yield from (*signature(name.rpartition(".")[2], it), *text(inspect.getdoc(it) or ""), "")
    if not inspect.isclass(it):
        return
    for member, value in vars(it).items():
        inner = getattr(value, "__func__", getattr(value, "fget", None) or value)
        if member.startswith("_") or not inspect.isfunction(inner) or not inner.__doc__:
            continue
        short = f"{it.__name__}.{member}"
        yield from (f"#### {short}", "")
        yield from ([] if isinstance(value, property) else signature(short, inner))
        yield from (*text(inspect.cleandoc(inner.__doc__)), "")


def signature(name: str, it: object) -> list[str]:
    """How it is called, as a block of code; nothing where Python cannot tell."""
    try:
        found = inspect.signature(it)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return []
    shown = [written(p) for p in found.parameters.values() if p.name not in ("self", "cls")]
    kinds = [p.kind for p in found.parameters.values() if p.name not in ("self", "cls")]
    if inspect.Parameter.KEYWORD_ONLY in kinds and inspect.Parameter.VAR_POSITIONAL not in kinds:
        shown.insert(kinds.index(inspect.Parameter.KEYWORD_ONLY), "*")
    nothing = found.return_annotation in (inspect.Signature.empty, "None", None)
    gives = "" if nothing else f" -> {found.return_annotation}"
    whole = f"{name}({', '.join(shown)}){gives}"
    if len(whole) > 96 and shown:
        inside = "".join(f"    {each},\n" for each in shown)
        whole = f"{name}(\n{inside}){gives}"
    return ["```text", whole, "```", ""]


def written(parameter: inspect.Parameter) -> str:
    """A parameter as it stands in the source."""
    stars = {inspect.Parameter.VAR_POSITIONAL: "*", inspect.Parameter.VAR_KEYWORD: "**"}
    text = stars.get(parameter.kind, "") + parameter.name
    if parameter.annotation is not inspect.Parameter.empty:
        text += f": {parameter.annotation}"
    if parameter.default is not inspect.Parameter.empty:
        text += f" = {parameter.default!r}"
    return text


def text(doc: str) -> Iterator[str]:
    """A docstring as Markdown: parts are lists, doctests are code."""
    listed = code = False
    for line in doc.splitlines():
        doctest = line.lstrip().startswith((">>>", "..."))
        if doctest != code and (doctest or not line.strip()):
            yield from ("", "```text") if doctest else ("```", "")
            code = doctest
        part, item = PART.match(line), ITEM.match(line)
        if code:
            yield line
        elif part:
            listed = True
            yield from ("", f"**{part[1]}**", "")
        elif listed and item:
            yield f"- `{item[1]}`: {plain(item[2])}"
        elif line.startswith("  ") and listed:
            yield f"  {plain(line.strip())}"
        else:
            listed = listed and not line.strip()
            yield plain(line)
    if code:
        yield "```"


def plain(line: str) -> str:
    """A line whose angle brackets, outside of code, are no HTML."""
    pieces = line.split("`")
    pieces[::2] = [piece.replace("<", "&lt;").replace("*", "\\*") for piece in pieces[::2]]
    return "`".join(pieces)
