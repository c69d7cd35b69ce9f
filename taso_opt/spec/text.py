"""The text form of terms and equations, written and read back exactly.

MatMul(MatMul(x, y), z) = MatMul(x, MatMul(y, z)) where x[*b, m, k], y[*b, k, n], z[*b, n, p]
(Split(x; axis=-1, sizes=(n, p))[0], ...) = (..., ...) where ...
Relu(Mul(x, s)) = Mul(Relu(x), s) where x[*b], s[] and s >= 0
Relu(Gather(x, y; axis=-2)) = Gather(Relu(x), y; axis=-2) where x[m, k], y[*b]: int64
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Mapping, Sequence
from dataclasses import replace
from fractions import Fraction
from functools import cache, lru_cache
from inspect import signature

from taso_opt.core.condition import ALL_BOUNDS, Condition
from taso_opt.core.dims import Dim, parse_dim
from taso_opt.core.literal import literal, literal_value
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Attribute, Const, Item, Term, Var
from taso_opt.core.types import PLACES, REAL, TRUTH, parse_scheme
from taso_opt.errors import RuleError, SpecError
from taso_opt.spec.builder import Builder

MAX_DEPTH = 64
MAX_LENGTH = 20_000
MAX_DIGITS = 100

CHOICE = "Where"
"""The operator whose first operand is a truth value."""

MISFITS = (TypeError, AttributeError, LookupError, ArithmeticError, AssertionError)
"""What type inference, which trusts the form of attributes, raises on those of a text that nobody has checked."""


def format_rule(rule: Rule) -> str:
    """An equation on one line."""
    types = ", ".join(map(_typed, sorted(rule.variables, key=lambda variable: variable.name)))
    conditions = "".join(f" and {condition}" for condition in rule.conditions)
    return f"{_side(rule.source)} = {_side(rule.target)} where {types}{conditions}"


def _typed(variable: Var) -> str:
    places = f": {PLACES}" if variable.type.dtype == PLACES else ""
    return f"{variable.name}{variable.type}{places}"


def format_term(term: Term) -> str:
    """A term as nested calls; shared subterms are written out each time."""
    match term:
        case Var(name):
            return name
        case Const(name):
            value = literal_value(term)
            return f"`{name}`" if value is None else str(value)
        case Item(inner, index):
            return f"{format_term(inner)}[{index}]"
        case Apply(operator, args, attributes):
            settings = ", ".join(f"{name}={format_attribute(value)}" for name, value in attributes)
            operands = ", ".join(map(format_term, args))
            return f"{operator}({operands}; {settings})" if settings else f"{operator}({operands})"


def parse_rule(text: str, builder: Builder, size: Callable[[str], Dim] = parse_dim) -> Rule:
    """Read what `format_rule` writes, checking types; RuleError says where the text is wrong.

    `size` reads one size of a variable and raises ValueError on anything else.
    """
    if len(text) > MAX_LENGTH:
        raise RuleError(f"expected an equation of at most {MAX_LENGTH} characters, found {len(text)}")
    equation, separator, types = text.partition(" where ")
    if not separator:
        raise RuleError(f"expected ' where ' and the types of the variables after the equation, found {text[:80]!r}")
    types, *said = types.split(" and ")
    typed = _variables(types, size)
    conditions = read_conditions(said, typed)
    try:
        source, target = _sides(equation, typed, builder)
        rule = Rule(source, target, conditions=conditions)
        if [builder.type(term) for term in source] != [builder.type(term) for term in target]:
            raise RuleError(f"expected both sides to have the same types, found {text[:200]!r}")
        if any(_computes_with_others(term, builder) for term in rule.applications):
            raise RuleError(f"expected no operator that computes with places or truth, found one in {text[:200]!r}")
    except (SpecError, ValueError) as error:
        raise RuleError(f"{error} in {text[:200]!r}") from error
    except MISFITS as error:
        raise RuleError(f"expected attributes that fit their operators, found {text[:200]!r} ({error})") from error
    return rule


def _sides(equation: str, typed: Mapping[str, Var], builder: Builder) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
    """Both sides of an equation, most of whose attributes are known from others; read word by word if it is wrong."""
    try:
        return _Parser(equation, typed, builder, _TOKEN_OR_ATTRIBUTES).equation()
    except (RuleError, SpecError, ValueError, *MISFITS):
        return _Parser(equation, typed, builder).equation()


def _computes_with_others(term: Apply, builder: Builder) -> bool:
    """Whether a term does more than move what is no real number; a choice may depend on what is true."""
    operator = builder.operator(term)
    if operator is not None and not operator.arithmetic:
        return False
    operands = term.args[1:] if term.operator == CHOICE else term.args
    computed_with = {builder.type(operand).dtype for operand in operands}
    return not computed_with.isdisjoint((PLACES, TRUTH)) or PLACES in {kind.dtype for kind in builder.types(term)}


def parse_attribute(text: str, builder: Builder) -> Attribute:
    """Read what `format_attribute` writes; RuleError says where the text is wrong."""
    if len(text) > MAX_LENGTH:
        raise RuleError(f"expected an attribute of at most {MAX_LENGTH} characters, found {len(text)}")
    parser = _Parser(text, {}, builder)
    try:
        value = parser.attribute(0)
    except ValueError as error:
        raise RuleError(f"{error} in {text[:200]!r}") from error
    parser.expect_end()
    return value


def _side(outputs: Sequence[Term]) -> str:
    text = ", ".join(map(format_term, outputs))
    return text if len(outputs) == 1 else f"({text})"


def format_attribute(value: Attribute) -> str:
    """An attribute as the text form writes it."""
    if isinstance(value, tuple):
        return f"({', '.join(map(format_attribute, value))}{',' if len(value) == 1 else ''})"
    return repr(value) if isinstance(value, float) else f'"{value}"' if isinstance(value, str) else str(value)


def _variables(types: str, size: Callable[[str], Dim]) -> dict[str, Var]:
    found: dict[str, Var] = {}
    end = 0
    for match in re.finditer(rf"\s*([A-Za-z_]\w*)\[([^\]]*)\](: {PLACES})?\s*(?:,|$)", types):
        if match.start() != end or match[1] in found:
            break
        try:
            found[match[1]] = _variable(match[1], match[2], PLACES if match[3] else REAL, size)
        except ValueError as error:
            raise RuleError(f"{error} in the types {types[:80]!r}") from error
        end = match.end()
    if end != len(types) or not found:
        raise RuleError(f"expected types such as x[m, k], y[k, n] after 'where', found {types[end : end + 80]!r}")
    return found


@lru_cache(maxsize=4096)
def _variable(name: str, scheme: str, dtype: str, size: Callable[[str], Dim]) -> Var:
    """A variable, which many equations have in common."""
    return Var(name, replace(parse_scheme(scheme, size), dtype=dtype))


def read_conditions(texts: Sequence[str], variables: Container[str]) -> tuple[Condition, ...]:
    """What stands behind the types, such as `s >= 0`; RuleError for anything but one condition for a variable."""
    found: dict[str, Condition] = {}
    for text in texts:
        said = " ".join(text.split())
        name = next(iter(re.findall(r"[A-Za-z_]\w*", said[:MAX_DIGITS])), "")
        fitting = [bounds for bounds in ALL_BOUNDS if bounds.text.format(name) == said]
        if not fitting:
            known = ", ".join(bounds.text.format("s") for bounds in ALL_BOUNDS)
            raise RuleError(f"expected a condition of the form {known} after 'and', found {said[:80]!r}")
        if name not in variables:
            raise RuleError(f"expected conditions on variables of the equation, found {said[:80]!r}")
        if name in found:
            raise RuleError(f"expected one condition on {name[:40]}, found {found[name]} and {said[:80]}")
        found[name] = Condition(name, fitting[0])
    return tuple(found[name] for name in sorted(found))


_NAME = re.compile(r"[A-Za-z_]\w*")
_WORD = r'"[^"\\]*"|-?\d+\.\d*(?:e-?\d+)?|\*?[A-Za-z_]\w*|\d+|[()\[\],;=+*/-]'
_TOKEN = re.compile(rf"\s*({_WORD})")
_PLAIN = r'[^();"]*+'
_TUPLE = rf"\({_PLAIN}(?:\({_PLAIN}\){_PLAIN})*+\)"
_ATTRIBUTES = rf';{_PLAIN}(?:(?:{_TUPLE}|"[^"\\]*"){_PLAIN})*+(?=\))'
"""All attributes of an application, where none is deeper than a tuple of tuples."""

ATTRIBUTES_DEPTH = 3
"""So deep are these nested below their application."""

_TOKEN_OR_ATTRIBUTES = re.compile(rf"\s*({_ATTRIBUTES}|{_WORD})")


@cache
def _check_names(meaning: Callable[..., object], operands: int, attributes: Sequence[str]) -> None:
    """Raise TypeError for attributes that an operator has not, or has and misses: not all of them change its type."""
    signature(meaning).bind(None, *[None] * operands, **dict.fromkeys(attributes))


@lru_cache(maxsize=4096)
def _known_attributes(text: str) -> Mapping[str, Attribute] | None:
    """Attributes from their semicolon on, which stand in many equations; None where they are malformed."""
    parser = _Parser(text, {}, Builder({}))
    try:
        found = parser.attributes(0)
        parser.expect_end()
    except (RuleError, SpecError, ValueError):
        return None
    return found


class _Parser:
    """Recursive descent over one equation, with a bound on the depth of nesting."""

    def __init__(
        self, text: str, variables: Mapping[str, Var], builder: Builder, token: re.Pattern[str] = _TOKEN
    ) -> None:
        self._text, self._variables, self._builder = text, variables, builder
        self._unused = set(variables)
        self._words, self._ends, self._place = list[str](), [0], 0
        for match in token.finditer(text):
            if match.start() != self._ends[-1]:
                break
            self._words.append(match[1])
            self._ends.append(match.end())
        self._words.append("")

    def equation(self) -> tuple[tuple[Term, ...], tuple[Term, ...]]:
        source = self._side()
        self._expect("=")
        target = self._side()
        self.expect_end()
        if len(source) != len(target):
            raise RuleError(f"expected as many outputs on both sides, found {len(source)} and {len(target)}")
        if self._unused:
            some = ", ".join(sorted(self._unused)[:8])
            raise RuleError(f"expected every typed variable in the equation, found no {some}")
        return source, target

    def expect_end(self) -> None:
        if self._text[self._ends[self._place] :].strip():
            raise self._error("the end of the equation")

    def _side(self) -> tuple[Term, ...]:
        if self._peek() != "(":
            return (self._term(0),)
        self._next()
        outputs = [self._term(0)]
        while self._peek() == ",":
            self._next()
            outputs.append(self._term(0))
        self._expect(")")
        return tuple(outputs)

    def _term(self, depth: int) -> Term:
        if depth > MAX_DEPTH:
            raise RuleError(f"expected at most {MAX_DEPTH} nested operators, found more")
        name = self._next()
        term: Term
        if name == "-" or name.isdecimal():
            return self._literal(name)
        if not _NAME.fullmatch(name):
            raise self._error("a variable or an operator")
        if self._peek() == "(":
            term = self._application(name, depth)
        elif name in self._variables:
            term = self._variables[name]
            self._unused.discard(name)
        else:
            raise RuleError(f"expected a type for every variable after 'where', found none for {name}")
        while self._peek() == "[":
            self._next()
            term = self._builder.item(term, int(self._next()))
            self._expect("]")
        return term

    def _literal(self, first: str) -> Const:
        """A whole number or a quotient of two."""
        numerator = self._next() if first == "-" else first
        denominator = "1"
        if self._peek() == "/":
            self._next()
            denominator = self._next()
        if not (numerator.isdecimal() and denominator.isdecimal() and int(denominator)):
            raise self._error("a number such as 3 or 1/6")
        return literal(Fraction(int(numerator), int(denominator)) * (-1 if first == "-" else 1))

    def _application(self, name: str, depth: int) -> Apply:
        self._expect("(")
        args = [self._term(depth + 1)]
        while self._peek() == ",":
            self._next()
            args.append(self._term(depth + 1))
        attributes = self._attributes(depth)
        self._expect(")")
        term = self._builder.apply(name, args, attributes)
        operator = self._builder.operator(term)
        if operator is not None:
            _check_names(operator.evaluate, len(args), tuple(attributes))
        return term

    def _attributes(self, depth: int) -> Mapping[str, Attribute]:
        """What stands between the operands and the parenthesis behind them."""
        text = self._peek()
        if not text.startswith(";"):
            return {}
        if text == ";":
            return self.attributes(depth)
        known = _known_attributes(text) if depth + ATTRIBUTES_DEPTH <= MAX_DEPTH else None
        if known is None:
            raise self._error("attributes")
        self._place += 1
        return known

    def attributes(self, depth: int) -> dict[str, Attribute]:
        """Attributes by name, from their semicolon on."""
        found = {}
        self._expect(";")
        while True:
            key = self._next()
            self._expect("=")
            found[key] = self.attribute(depth + 1)
            if self._peek() != ",":
                return found
            self._next()

    def attribute(self, depth: int) -> Attribute:
        if depth > MAX_DEPTH:
            raise RuleError(f"expected at most {MAX_DEPTH} nested tuples, found more")
        if self._peek() != "(":
            return self._scalar()
        self._next()
        parts: list[Attribute] = []
        while self._peek() != ")":
            parts.append(self.attribute(depth + 1))
            if self._peek() == ",":
                self._next()
        self._expect(")")
        return tuple(parts)

    def _scalar(self) -> Attribute:
        if self._peek().startswith('"'):
            return self._next()[1:-1]
        pieces = [self._next()]
        if "." in pieces[0]:
            raise self._error("a whole number, or a fraction as (numerator, denominator)")
        while self._peek().startswith(("+", "-", "*")) or pieces[-1] in ("+", "-", "*"):
            pieces.append(self._next())
        return parse_dim("".join(pieces))

    def _peek(self) -> str:
        return self._words[self._place]

    def _next(self) -> str:
        word = self._words[self._place]
        if not word:
            raise self._error("more of the equation")
        if len(word) > MAX_DIGITS and word.isdecimal():
            raise self._error(f"a number of at most {MAX_DIGITS} digits")
        self._place += 1
        return word

    def _expect(self, token: str) -> None:
        if self._peek() != token:
            raise self._error(repr(token))
        self._next()

    def _error(self, expected: str) -> RuleError:
        at = self._ends[self._place]
        return RuleError(f"expected {expected} at character {at}, found {self._text[at : at + 40]!r}")
