"""Relay text format 0.0.5 to the syntax tree."""

from __future__ import annotations

from collections.abc import Iterable

from match_aie.errors import ModelError
from match_aie.frontend.relay.attributes import literal, meta, named_attributes
from match_aie.frontend.relay.cursor import DEEPEST, Cursor
from match_aie.frontend.relay.lexer import tokenize
from match_aie.frontend.relay.metadata import metadata_constants
from match_aie.frontend.relay.source import Source
from match_aie.frontend.relay.syntax import (
    NOTHING,
    Attribute,
    Attributes,
    Binding,
    Block,
    Call,
    Constant,
    Expression,
    Function,
    Global,
    Local,
    Module,
    Operator,
    Parameter,
    Project,
    Tuple,
    Type,
)
from match_aie.frontend.relay.types import parse_type

#: What starts an expression or a definition that is no straight-line network.
REFUSED = {
    "if": "control flow (if)",
    "match": "matching on algebraic data types (match)",
    "ref": "mutable references (ref)",
    "ref_read": "mutable references (ref_read)",
    "ref_write": "mutable references (ref_write)",
    "type": "algebraic data types (type)",
    "extern": "algebraic data types (extern type)",
    "import": "imports of other modules (import)",
}
#: Infix operators, loosest first; none of them is printed by TVM, but its parser takes them.
_INFIX = (
    {"==": "equal", "!=": "not_equal", "<": "less", "<=": "less_equal"}
    | {">": "greater", ">=": "greater_equal"},
    {"+": "add", "-": "subtract"},
    {"*": "multiply", "/": "divide"},
)


def parse(source: Source) -> Module:
    """The module that `source` holds; a text that is only a function or expression is `main`.

    Raises:
        ModelError: with line, column and what was expected.
    """
    parser = _Parser(Cursor(source, tokenize(source)))
    functions = parser.module()
    tokens = parser.cursor.tokens
    constants = metadata_constants(source, tokens.metadata, tokens.metadata_at)
    return Module(functions, constants)


class _Parser:
    """Recursive descent over one text."""

    def __init__(self, cursor: Cursor) -> None:
        self.cursor = cursor
        self.scopes: list[set[str]] = [set()]
        self.free: dict[str, Parameter] = {}

    def module(self) -> dict[str, Function]:
        """All definitions of the text."""
        cursor = self.cursor
        if cursor.kind == "version":
            cursor.take()
        functions: dict[str, Function] = {}
        while cursor.kind != "end":
            if cursor.text == "def" and cursor.kind == "name":
                cursor.take()
                at = cursor.at
                name = cursor.expect_kind("global", "a function's name, such as @main")[1:]
                if name in functions:
                    raise cursor.source.error(f"function @{name} is defined twice", at)
                functions[name] = self.function()
            elif functions:
                raise self.refused() or cursor.unexpected("def")
            else:
                functions["main"] = self.bare()
                if cursor.kind != "end":
                    raise cursor.unexpected("the end of the text")
        if not functions:
            raise cursor.unexpected("def @main(...)")
        return functions

    def bare(self) -> Function:
        """A text without `def`: a function, or an expression over free variables."""
        at = self.cursor.at
        block = self.block("")
        if isinstance(block.result, Function) and not block.bindings and not self.free:
            return block.result
        return Function(at, tuple(self.free.values()), block)

    def refused(self) -> ModelError | None:
        """The error where something comes next that is not compiled."""
        cursor = self.cursor
        if cursor.kind != "name" or cursor.text not in REFUSED:
            return None
        what = REFUSED[cursor.text]
        follows = cursor.after()
        if cursor.text != "type" and cursor.text != "extern" and follows not in ("(", '"'):
            if not (cursor.text == "import" and follows.startswith('"')):
                return None
        return cursor.source.error(
            f"{what}: only straight-line networks are compiled",
            cursor.at,
            hint="evaluate it before the export, or export the branch that runs",
        )

    def function(self) -> Function:
        """Type parameters, parameters, attributes, type, body; the cursor is behind the name."""
        cursor = self.cursor
        at = cursor.at
        attributes: dict[str, Attribute] = {}
        if cursor.accept("["):
            attributes |= self.bracketed()
        cursor.expect("(")
        parameters, more = self.parameters()
        attributes |= more
        if cursor.accept("->"):
            parse_type(cursor)
        cursor.expect("{")
        names = {parameter.name for parameter in parameters}
        if len(names) != len(parameters):
            raise cursor.source.error("two parameters share a name", at)
        self.scopes.append(names)
        body = self.block("}")
        self.scopes.pop()
        cursor.expect("}")
        return Function(at, parameters, body, attributes or NOTHING)

    def bracketed(self) -> Attributes:
        """`[A, B]` are type parameters, which say nothing here; `[key=value]` are attributes."""
        cursor = self.cursor
        if cursor.after() == "=":
            return named_attributes(cursor, "]")
        while not cursor.accept("]"):
            cursor.expect_kind("name", "a type parameter or ']'")
            if not cursor.accept(","):
                cursor.expect("]")
                break
        return NOTHING

    def parameters(self) -> tuple[tuple[Parameter, ...], Attributes]:
        """Parameters, then attributes, up to the closing parenthesis."""
        cursor = self.cursor
        found: list[Parameter] = []
        while cursor.kind == "local":
            found.append(self.parameter())
            if not cursor.accept(","):
                cursor.expect(")")
                return tuple(found), NOTHING
        if cursor.kind not in ("name", "symbol"):
            raise cursor.unexpected("a parameter, an attribute or ')'")
        return tuple(found), named_attributes(cursor, ")")

    def parameter(self) -> Parameter:
        """`%name {annotation}: type`; annotation and type may be absent."""
        cursor = self.cursor
        at, name = cursor.at, cursor.take()[1:]
        if cursor.text == "{":
            cursor.skip_balanced("{", "}")
        return Parameter(at, name, self.annotation())

    def annotation(self) -> Type | None:
        """`: type`, where there is one."""
        return parse_type(self.cursor) if self.cursor.accept(":") else None

    def block(self, closing: str) -> Block:
        """Bindings and a result, up to but without `closing`."""
        cursor, at = self.cursor, self.cursor.at
        bindings: list[Binding] = []
        while True:
            if cursor.kind == "name" and cursor.text == "let":
                cursor.take()
                bindings.append(self.binding())
            elif cursor.kind == "name" and cursor.text == "free_var":
                cursor.take()
                self.free_variable()
            elif cursor.kind == "local" and cursor.after() == "=":
                bindings.append(self.binding())
            else:
                break
        if closing and cursor.text == closing:
            raise cursor.unexpected("an expression")
        return Block(at, tuple(bindings), self.expression())

    def binding(self) -> Binding:
        """`%name: type = value;`."""
        cursor = self.cursor
        at = cursor.at
        name = cursor.expect_kind("local", "a variable")[1:]
        if cursor.text == "{":
            cursor.skip_balanced("{", "}")
        self.annotation()
        cursor.expect("=")
        value = self.expression()
        cursor.expect(";")
        self.scopes[-1].add(name)
        return Binding(at, name, value)

    def free_variable(self) -> None:
        """`free_var %name: type;`, as TVM prints expressions that are no function."""
        parameter = self.parameter()
        self.free[parameter.name] = parameter
        self.scopes[0].add(parameter.name)
        self.cursor.accept(";")

    def expression(self, level: int = 0) -> Expression:
        """An expression of infix operators from `level` on."""
        cursor = self.cursor
        cursor.depth += 1
        if cursor.depth > DEEPEST:
            raise cursor.source.error(f"nested more than {DEEPEST} deep", cursor.at)
        left = self.postfix()
        while cursor.kind == "symbol" and cursor.text not in (",", ")", ";", "}"):
            found = next((i for i in range(level, 3) if cursor.text in _INFIX[i]), None)
            if found is None:
                break
            at = cursor.at
            operator = Operator(at, _INFIX[found][cursor.take()])
            left = Call(at, operator, (left, self.expression(found + 1)), NOTHING)
        cursor.depth -= 1
        return left

    def postfix(self) -> Expression:
        """A primary expression with the calls and projections behind it."""
        cursor = self.cursor
        value = self.primary()
        while cursor.kind == "symbol":
            if cursor.text == "(":
                at = cursor.at
                cursor.take()
                items, attributes = self.arguments()
                place = value.at if isinstance(value, Operator) else at
                value = Call(place, value, items, attributes)
            elif cursor.text == ".":
                cursor.take()
                value = self.projected(value)
            else:
                break
        if isinstance(value, Operator):
            raise cursor.unexpected(f"'(' behind operator {value.name}")
        return value

    def projected(self, value: Expression) -> Expression:
        """`value.0`, and `value.0.1`, whose indices look like a number with a point."""
        cursor = self.cursor
        at, text = cursor.at, cursor.expect_kind("number", "the index of a tuple's field")
        return self.fields(value, text.split("."), at)

    def fields(self, value: Expression, indices: Iterable[str], at: int) -> Expression:
        """`value` projected on one index after the other."""
        for index in indices:
            if not index.isdecimal() or len(index) > 6:
                raise self.cursor.source.error("expected the index of a tuple's field", at)
            value = Project(at, value, int(index))
        return value

    def arguments(self) -> tuple[tuple[Expression, ...], Attributes]:
        """What stands in a call's parentheses; the cursor is behind the opening one."""
        cursor = self.cursor
        items: list[Expression] = []
        while True:
            if cursor.kind == "name" and cursor.after() == "=":
                return tuple(items), named_attributes(cursor, ")")
            if cursor.accept(")"):
                return tuple(items), NOTHING
            items.append(self.expression())
            if not cursor.accept(","):
                cursor.expect(")")
                return tuple(items), NOTHING

    def primary(self) -> Expression:
        """A variable, literal, tuple, block, function, or the name of an operator."""
        cursor = self.cursor
        kind, at, text = cursor.kind, cursor.at, cursor.text
        if kind == "local":
            cursor.take()
            return self.variable(text[1:], at)
        if kind == "global":
            cursor.take()
            return Global(at, text[1:])
        if kind == "symbol" and text in "({":
            return self.tuple() if text == "(" else self.scope()
        if kind == "string":
            raise cursor.source.error("expected an expression, found a string", at)
        value = literal(cursor)
        if value is not None:
            return Constant(at, value)
        if kind == "symbol" and text in ("-", "!"):
            cursor.take()
            operator = Operator(at, "negative" if text == "-" else "logical_not")
            return Call(at, operator, (self.expression(len(_INFIX)),), NOTHING)
        if kind == "name":
            return self.named()
        raise cursor.unexpected("an expression")

    def named(self) -> Expression:
        """What starts with a word."""
        cursor = self.cursor
        at = cursor.at
        if cursor.text == "meta" and cursor.after() == "[":
            return meta(cursor)
        refused = self.refused()
        if refused is not None:
            raise refused
        name = cursor.take()
        return self.function() if name == "fn" else Operator(at, name)

    def variable(self, name: str, at: int) -> Expression:
        """A use of `%name`; where `name` ends like a projection, what is defined decides."""
        known = any(name in scope for scope in self.scopes)
        if known:
            return Local(at, name)
        base, indices = name, list[str]()
        while not known and "." in base:
            base, _, index = base.rpartition(".")
            indices.insert(0, index)
            known = any(base in scope for scope in self.scopes)
        if not known:
            raise self.cursor.source.error(f"variable %{name} is not defined before here", at)
        return self.fields(Local(at, base), indices, at)

    def scope(self) -> Block:
        """`{ ... }`, a block in place of an expression."""
        self.cursor.expect("{")
        self.scopes.append(set())
        block = self.block("}")
        self.scopes.pop()
        self.cursor.expect("}")
        return block

    def tuple(self) -> Expression:
        """`(a, b)`, `(a,)`, `()`; `(a)` is only `a`."""
        cursor = self.cursor
        at = cursor.expect("(")
        items: list[Expression] = []
        comma = True
        while not cursor.accept(")"):
            if not comma:
                raise cursor.unexpected("',' or ')'")
            items.append(self.expression())
            comma = cursor.accept(",")
        if len(items) == 1 and not comma:
            return items[0]
        return Tuple(at, tuple(items))
