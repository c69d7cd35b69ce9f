"""Makes mutants: laws with one node changed or one precondition weakened, meanings with one expression changed."""

from __future__ import annotations

import ast
import inspect
import textwrap
from collections import Counter
from collections.abc import Callable, Container, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import CodeType, FunctionType

from taso_opt.core.condition import Condition, weaker
from taso_opt.core.dims import Dim, Size, symbol, symbols_in
from taso_opt.core.rule import Rule
from taso_opt.core.term import Apply, Attribute, Item, Term, Var, postorder
from taso_opt.core.types import TensorType
from taso_opt.errors import TasoError
from taso_opt.spec.builder import Builder
from taso_opt.spec.text import MISFITS
from taso_opt.verify.conditions.widen import Change, apply_change

INTERCHANGED = (("Add", "Sub", "Mul"), ("Relu", "Tanh", "Sigmoid"))
FRESH = "fresh"


def changed_laws(rule: Rule, builder: Builder) -> Iterator[Rule]:
    """The rule with one node of one side changed, where types still agree."""
    for one_way in (rule, rule.reversed()):
        for node in postorder(one_way.target):
            for change in _node_changes(node, builder, rule.variables):
                try:
                    target = _rebuilt(one_way.target, node, change(), builder)
                    types = [[builder.type(term) for term in side] for side in (one_way.source, target)]
                except (TasoError, ValueError, *MISFITS):
                    continue
                if types[0] == types[1] and target != one_way.target:
                    yield Rule(one_way.source, target)


def weakened_laws(rule: Rule, builder: Builder) -> Iterator[Rule | None]:
    """The rule with one condition dropped, None where type inference refuses that.

    A condition is a size that is a number or the same in several places, a rank, or an attribute that is a number.
    What only renames a size or puts a number for a symbol is no weaker.
    """
    shared = _shared_symbols(rule)
    for variable in rule.variables:
        for shape in _weaker_shapes(variable.type.shape, shared):
            yield _applied(rule, builder, Change({variable: TensorType(variable.type.dtype, shape)}))
    settings = dict.fromkeys((term.operator, *setting) for term in rule.applications for setting in term.attributes)
    for operator, name, value in settings:
        for other in _other_numbers(value) if name not in ("axis", "perm") else ():
            yield _applied(rule, builder, Change(attributes={(operator, name, value): other}))


def weakened_conditions(rule: Rule) -> Iterator[Rule]:
    """The rule with one condition on the values of a constant dropped or weaker."""
    for condition in rule.conditions:
        others = [other for other in rule.conditions if other != condition]
        yield rule.under(others)
        yield from (rule.under([*others, Condition(condition.variable, one)]) for one in weaker(condition.bounds))


def _applied(rule: Rule, builder: Builder, change: Change) -> Rule | None:
    try:
        return apply_change(builder, rule, change)
    except (TasoError, ValueError, *MISFITS):
        return None


def _shared_symbols(rule: Rule) -> set[str]:
    """The sizes that stand in more than one place."""
    values: list[Attribute] = [variable.type.shape for variable in rule.variables]
    values += [value for term in rule.applications for _, value in term.attributes]
    counts = Counter(name for value in values for name in symbols_in(value))
    return {name for name, count in counts.items() if count > 1}


def _weaker_shapes(shape: tuple[Dim, ...], shared: Container[str]) -> Iterator[tuple[Dim, ...]]:
    for at, dim in enumerate(shape):
        if isinstance(dim, int) or any(name in shared for name in dim.symbols()):
            fresh = f"*{FRESH}" if isinstance(dim, Size) and dim.is_star else FRESH
            yield (*shape[:at], symbol(fresh), *shape[at + 1 :])
    if not (shape and isinstance(shape[0], Size) and shape[0].is_star):
        yield (symbol(f"*{FRESH}"), *shape)


def _other_numbers(value: Attribute) -> Iterator[Attribute]:
    """The attribute with one number in it one more or one less."""
    if isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, tuple):
        for place, part in enumerate(value):
            yield from ((*value[:place], other, *value[place + 1 :]) for other in _other_numbers(part))


def _node_changes(node: Term, builder: Builder, variables: Sequence[Var]) -> Iterator[Callable[[], Term]]:
    """Functions that make another node."""
    match node:
        case Var():
            yield from (lambda other=other: other for other in variables if other is not node)
        case Item(inner, index):
            yield from (lambda place=place: builder.item(inner, place) for place in range(3) if place != index)
        case Apply(operator, args, attributes):
            for first in range(len(args) - 1):
                swapped = (*args[:first], args[first + 1], args[first], *args[first + 2 :])
                yield lambda swapped=swapped: builder.apply(operator, swapped, dict(attributes))  # type: ignore[misc]
            for name, value in attributes:
                for other in other_values(value):
                    changed = {**dict(attributes), name: other}
                    yield lambda changed=changed: builder.apply(operator, args, changed)  # type: ignore[misc]
            for other in (name for names in INTERCHANGED if operator in names for name in names if name != operator):
                yield lambda other=other: builder.apply(other, args, {})  # type: ignore[misc]
            yield from (lambda argument=argument: argument for argument in args)


def other_values(value: Attribute) -> Iterator[Attribute]:
    """Attributes near this one: numbers one more and one less, sizes 1 and 2, neighbours in a tuple swapped."""
    if isinstance(value, Size):
        yield from (1, 2)
    elif isinstance(value, int):
        yield from (value + 1, value - 1)
    elif isinstance(value, tuple):
        for first in range(len(value) - 1):
            yield (*value[:first], value[first + 1], value[first], *value[first + 2 :])
        for place, part in enumerate(value):
            yield from ((*value[:place], other, *value[place + 1 :]) for other in other_values(part))


def _rebuilt(roots: Sequence[Term], node: Term, new: Term, builder: Builder) -> tuple[Term, ...]:
    mapping = {node: new}
    for term in postorder(roots):
        if term not in mapping:
            mapping[term] = builder.rebuild(term, tuple(mapping[child] for child in term.children))
    return tuple(mapping[root] for root in roots)


METHODS = {"add": "subtract", "subtract": "add", "multiply": "add", "divide": "multiply"}
METHODS |= {"maximum": "sum", "sum": "maximum"}
COMMUTATIVE = ("add", "multiply")
"""Primitives that commute by definition: exchanging their operands makes no mutant."""

OPERATIONS: dict[type[ast.operator], type[ast.operator]] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Add,
    ast.FloorDiv: ast.Mult,
    ast.Div: ast.Mult,
}
COMPARISONS: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
}


@dataclass(frozen=True)
class Meaning:
    """A function with one expression changed: its code, the values that parameters have by default, and the change."""

    code: CodeType
    defaults: tuple[object, ...] | None
    change: str


def changed_meanings(function: FunctionType) -> Iterator[Meaning]:
    """The function with one expression changed, where the change can make a difference at all.

    That `zip` is told to be strict is a guard that no call runs into, and no part of what is computed.
    """
    source = textwrap.dedent(inspect.getsource(function))
    tree = ast.parse(source)
    nodes = list(ast.walk(tree))
    strict = [node.value for node in nodes if isinstance(node, ast.keyword) and node.arg == "strict"]
    guards = {at for at, node in enumerate(nodes) if node in strict}
    for at in range(len(nodes)):
        for which in range(3):
            mutated = ast.parse(source)
            node = list(ast.walk(mutated))[at]
            before = ast.unparse(node) if isinstance(node, ast.expr) else ""
            if at in guards or not _mutate(node, which) or _text(node) == before:  # as of equal operands exchanged
                continue
            code = _code(compile(ast.fix_missing_locations(mutated), "<mutant>", "exec"), function.__name__)
            if code is not None and code.co_freevars == function.__code__.co_freevars:
                change = f"line {getattr(node, 'lineno', 0)}: {before or 'if'} becomes {_text(node)}"
                yield Meaning(code, _defaults(mutated, function), change)


def _text(node: ast.AST) -> str:
    return ast.unparse(node.test if isinstance(node, ast.If) else node)


def _defaults(tree: ast.Module, function: FunctionType) -> tuple[object, ...] | None:
    """The values that parameters have by default, which are no part of the code."""
    definition = tree.body[0]
    assert isinstance(definition, ast.FunctionDef)
    kept = function.__defaults__
    return kept and tuple(ast.literal_eval(value) for value in definition.args.defaults)


def _mutate(node: ast.AST, which: int) -> bool:
    """Change a node in place in the first, second or third way; False when there is no such way."""
    match node:
        case ast.Constant(value=bool() as value) if which == 0:
            node.value = not value
        case ast.Constant(value=int() as value) if which < 2 and not isinstance(value, bool):
            node.value = value + (1, -1)[which]
        case ast.Constant(value=str() as value) if which == 0 and len(value.partition("->")[2]) > 1:
            inputs, output = value.split("->")
            node.value = f"{inputs}->{output[:-2]}{output[-1]}{output[-2]}"
        case ast.BinOp() if which == 0 and type(node.op) in OPERATIONS:
            node.op = OPERATIONS[type(node.op)]()
        case ast.Compare() if which == 0 and type(node.ops[0]) in COMPARISONS:
            node.ops[0] = COMPARISONS[type(node.ops[0])]()
        case ast.Call(func=ast.Attribute(value=ast.Name(id="xp"))):
            return _mutate_primitive(node, which)
        case ast.IfExp() if which == 0:
            node.body, node.orelse = node.orelse, node.body
        case ast.If() if which == 0:
            node.test = ast.UnaryOp(ast.Not(), node.test)
        case _:
            return False
    return True


def _mutate_primitive(node: ast.Call, which: int) -> bool:
    """A call of the array module: two operands swapped, another primitive, or its first operand in its place."""
    assert isinstance(node.func, ast.Attribute)
    if which == 0 and len(node.args) > 1 and node.func.attr not in COMMUTATIVE:
        first = 1 if node.func.attr == "contract" else 0
        node.args[first], node.args[first + 1] = node.args[first + 1], node.args[first]
    elif which == 1 and node.func.attr in METHODS:
        node.func.attr = METHODS[node.func.attr]
    else:
        return False
    return True


def _code(module: CodeType, name: str) -> CodeType | None:
    """The code of a function, however deep in a module it was defined."""
    found = [constant for constant in module.co_consts if isinstance(constant, CodeType)]
    for code in found:
        inner = code if code.co_name == name else _code(code, name)
        if inner is not None:
            return inner
    return None


@contextmanager
def in_force(function: FunctionType, meaning: Meaning) -> Iterator[None]:
    """The function does what the mutant says for a while, wherever it is used."""
    kept = function.__code__, function.__defaults__
    function.__code__, function.__defaults__ = meaning.code, meaning.defaults
    try:
        yield
    finally:
        function.__code__, function.__defaults__ = kept
