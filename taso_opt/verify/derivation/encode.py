"""Encodes terms and laws for Z3: operators are uninterpreted functions of tensors, of their shapes and attributes.

An application is a function of its operands, of the shape of each operand and of its attributes. A shape is a list of
sizes built from the front (`extend(extend(*b, m), k)`), and so is an attribute that is a tuple; therefore a law for
`x[*b, n]` matches operands of every rank, broadcasting included, and only those for which it is stated.

A law becomes quantified equalities whose patterns are whole sides. Every ground term that Z3 sees is then well-typed:
those of the goal are, and an instance of a law is made only where a whole side, shapes included, is there already.
Sums and quotients in a pattern stand as fresh variables, and the law is guarded by what they equal.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from functools import cache, lru_cache
from typing import Any

import z3

from taso_opt.core.dims import Dim, Size, divide, symbol
from taso_opt.core.quotients import QUOTIENT
from taso_opt.core.term import Apply, Attribute, Const, Item, Term, Var, postorder
from taso_opt.spec.builder import Builder
from taso_opt.verify.sizes import plain_symbols, write_dim

z3.set_param("rewriter.sort_sums", True)  # so that n+p and p+n are one term

TENSOR, SHAPE, INT = z3.DeclareSort("Tensor"), z3.DeclareSort("Shape"), z3.IntSort()
EMPTY = z3.Const("[]", SHAPE)
EXTEND = z3.Function("extend", SHAPE, INT, SHAPE)
PRESENT = z3.Function("present", TENSOR, z3.BoolSort())
SIZE = "size "
KEPT = 2**14
"""So many constants and sizes are kept once they are written."""

SORTS = {"T": TENSOR, "S": SHAPE, "I": INT}


class Encoder:
    """Turns terms into Z3 terms; the variables and symbols of one formula share the constants of one encoder."""

    def __init__(self, builder: Builder, abstract_sizes: bool = False) -> None:
        self._builder = builder
        self._terms: dict[Term, Any] = {}
        self._lists: dict[tuple[Attribute, ...], Any] = {}
        self.constants: dict[str, Any] = {}
        self.abstracted: dict[Dim, Any] = {}
        self._abstract_sizes = abstract_sizes

    def write_exactly(self) -> None:
        """From now on write every size as it is, other than in a pattern."""
        self._abstract_sizes = False
        self._lists.clear()

    def term(self, root: Term) -> Any:
        """The Z3 term of a term with one output."""
        for term in postorder((root,)):
            if term not in self._terms and not _is_tuple(self._builder, term):
                self._terms[term] = self._term(term)
        return self._terms[root]

    def _term(self, term: Term) -> Any:
        if isinstance(term, Var):
            return self._constant(f"tensor {term.name}", TENSOR)
        if isinstance(term, Const):
            return z3.Const(f"value {term.name}", TENSOR)
        call, index = (term.term, f"#{term.index}") if isinstance(term, Item) else (term, "")
        arguments = [self._terms[argument] for argument in call.args]
        arguments += [self._list(self._builder.type(argument).shape) for argument in call.args]
        names, sorts = [], "T" * len(call.args) + "S" * len(call.args)
        for name, value in call.attributes:
            if isinstance(value, tuple | int | Size):
                arguments.append(self._attribute(value))
                sorts += "S" if isinstance(value, tuple) else "I"
                names.append(name)
            else:
                names.append(f"{name}={value!r}")
        return apply(function(call.operator + index, len(call.args), tuple(names), sorts), arguments)

    def dim(self, dim: Dim) -> Any:
        """The Z3 integer of a size; in a pattern, anything but a number or a symbol becomes a variable."""
        if dim in self.abstracted:
            return self.abstracted[dim]
        if self._abstract_sizes and isinstance(dim, Size) and (dim.symbol or QUOTIENT).startswith(QUOTIENT):
            self.abstracted[dim] = z3.Const(f"size #{len(self.abstracted)}", INT)
            return self.abstracted[dim]
        return self.exact(dim)

    def exact(self, dim: Dim) -> Any:
        """The Z3 integer of a size; a term of a sum that a variable stands for is that variable."""
        terms = [Size((term,)) for term in dim.terms] if isinstance(dim, Size) and len(dim.terms) > 1 else []
        if any(term in self.abstracted for term in terms):
            return z3.Sum([self.abstracted[term] if term in self.abstracted else self.exact(term) for term in terms])
        written, names = _written(dim)
        constants = [self._constant(f"{SIZE}{name}", INT) is _size(name) for name in names]
        return written if all(constants) else write_dim(dim, lambda name: self.constants[f"{SIZE}{name}"])

    def _attribute(self, value: Attribute) -> Any:
        if isinstance(value, tuple):
            return self._list(value)
        assert isinstance(value, int | Size)
        return self.dim(value)

    def _list(self, values: tuple[Attribute, ...]) -> Any:
        if not all(type(value) in (int, Size) for value in values):  # 1.0 is no 1, though dictionaries say so
            return self._written_list(values)
        if values not in self._lists:
            self._lists[values] = self._written_list(values)
        return self._lists[values]

    def _written_list(self, values: tuple[Attribute, ...]) -> Any:
        result = EMPTY
        for at, value in enumerate(values):
            if at == 0 and isinstance(value, Size) and value.is_star:
                result = self._constant(f"sizes {value}", SHAPE)
            else:
                size = self.dim(value) if isinstance(value, int | Size) else z3.Const(f"literal {value!r}", INT)
                result = apply(EXTEND, (result, size))
        return result

    def _constant(self, name: str, sort: Any) -> Any:
        if name not in self.constants:
            self.constants[name] = _constant(name, sort)
        return self.constants[name]


@lru_cache(maxsize=KEPT)
def _constant(name: str, sort: Any) -> Any:
    return z3.Const(name, sort)


def _size(name: str) -> Any:
    """The constant for a symbol of sizes."""
    return _constant(f"{SIZE}{name}", INT)


@lru_cache(maxsize=KEPT, typed=True)
def _written(dim: Dim) -> tuple[Any, tuple[str, ...]]:
    """A size over constants, and the symbols that those stand for; writing is slow and the same sizes come again."""
    return write_dim(dim, _size), tuple(dict.fromkeys(plain_symbols(dim)))


def apply(function: Any, arguments: Sequence[Any]) -> Any:
    """A function applied to arguments of the right sorts, without the casts that Z3's Python layer makes slowly."""
    array = (z3.Ast * len(arguments))(*(argument.as_ast() for argument in arguments))
    context = z3.main_ctx()
    return z3.ExprRef(z3.Z3_mk_app(context.ref(), function.ast, len(arguments), array), context)


@cache
def function(name: str, arity: int, attributes: tuple[str, ...], sorts: str) -> Any:
    """The function that stands for one output of an operator with these attributes.

    `sorts` has a letter for each argument: T for a tensor, S for a shape or another tuple of sizes, I for a size.
    """
    kinds = [SORTS[letter] for letter in sorts]
    return z3.Function(f"{name}/{arity}/{','.join(attributes)}/{sorts}", *kinds, TENSOR)


def commutativity(operator: str) -> Any:
    """The law that the two operands of an operator without attributes may change places."""
    x, y, s, t = z3.Const("x", TENSOR), z3.Const("y", TENSOR), z3.Const("s", SHAPE), z3.Const("t", SHAPE)
    call = function(operator, 2, (), "TTSS")
    return z3.ForAll([x, y, s, t], call(x, y, s, t) == call(y, x, t, s), patterns=[call(x, y, s, t)])


def negation(builder: Builder, source: Sequence[Term], target: Sequence[Term]) -> Any:
    """The claim that some output of the two sides differs, over constants for variables and sizes.

    Z3 looks at one output that may differ and leaves the terms of the others out of sight of the patterns; that all
    outputs are there is claimed too, and where one side splits a tensor, the concatenation of the other side. Sizes
    are not negative.
    """
    encoder = Encoder(builder)
    pairs = [(encoder.term(u), encoder.term(v)) for u, v in zip(source, target, strict=True)]
    differ = z3.Or([u != v for u, v in pairs])
    wholes = [_whole(builder, source, target), _whole(builder, target, source)] if len(pairs) > 1 else []
    present = [term for pair in pairs for term in pair] if len(pairs) > 1 else []
    present += [encoder.term(whole) for whole in wholes if whole]
    natural = [constant >= 0 for constant in encoder.constants.values() if constant.sort() == INT]
    return z3.And(differ, *map(PRESENT, present), *natural)


def _whole(builder: Builder, parts: Sequence[Term], others: Sequence[Term]) -> Term | None:
    """The concatenation that `others` would be split from if they were these parts of a split; None if it is none."""
    (first, *_) = parts
    split = first.term if isinstance(first, Item) else None
    if split is None or split.operator != "Split":
        return None
    if any(part != Item(split, at) for at, part in enumerate(parts)) or len(builder.types(split)) != len(parts):
        return None
    return builder.apply("Concat", others, {"axis": split.attribute("axis")})


def law(builder: Builder, source: Sequence[Term], target: Sequence[Term]) -> list[Any]:
    """Both sides as quantified equalities: one for each output and each direction in which a side can be a pattern.

    Only when no output alone mentions all variables do all outputs of a side together become the pattern: that makes
    an instance of every pair of terms, of which there are many.
    """
    both = ((source, target), (target, source))
    pairs = [(u, v) for trigger, result in both for u, v in zip(trigger, result, strict=True)]
    alone = [formula for u, v in pairs if (formula := _equality(builder, (u,), u, v)) is not None]
    if alone or len(source) == 1:
        return alone
    together = [
        _equality(builder, trigger, u, v) for trigger, result in both for u, v in zip(trigger, result, strict=True)
    ]
    return [formula for formula in together if formula is not None]


def _equality(builder: Builder, trigger: Sequence[Term], u: Term, v: Term) -> Any | None:
    """`u = v` wherever all of `trigger` is there; None when the trigger leaves a variable or a size open."""
    if any(isinstance(term, Var) for term in trigger):
        return None
    encoder = Encoder(builder, abstract_sizes=True)
    patterns = [encoder.term(term) for term in trigger]
    bound = dict(encoder.constants)
    guards = _guards(encoder)
    if guards is None:
        return None
    known = len(encoder.constants)
    encoder.write_exactly()
    equation = encoder.term(u) == encoder.term(v)
    if len(encoder.constants) > known:
        return None
    body = z3.Implies(z3.And(guards), equation) if guards else equation
    pattern = patterns[0] if len(patterns) == 1 else z3.MultiPattern(*patterns)
    return z3.ForAll([*bound.values(), *encoder.abstracted.values()], body, patterns=[pattern])


def _guards(encoder: Encoder) -> list[Any] | None:
    """What the abstracted sizes equal; None when that mentions a symbol that the pattern leaves open.

    A product may stand for itself, unguarded, when one of its factors occurs nowhere else, as m in the channels g*m
    of a grouped convolution: type inference lets only such sizes through. Where two products have such a factor in
    common, as g*m and e*m, they are held to each other: e times the one is g times the other. A symbol that a sum
    gives away, as p in p+e where e is known, is what is left of the sum, and not negative.
    """
    guards = []
    freed: dict[str, tuple[Any, Dim]] = {}
    for dim, variable in encoder.abstracted.items():
        unknown = {name for name in plain_symbols(dim) if f"size {name}" not in encoder.constants}
        if not unknown or _is_sum_of(dim, encoder.abstracted):
            guards.append(variable == encoder.exact(dim))
            continue
        if len(unknown) > 1 or not isinstance(dim, Size):
            return None
        (name,) = unknown
        if len(dim.terms) > 1:
            rest = dim - symbol(name)
            if name in plain_symbols(rest):
                return None
            encoder.constants[f"size {name}"] = variable - encoder.exact(rest)
            guards.append(encoder.constants[f"size {name}"] >= 0)
            continue
        cofactor = divide(dim, symbol(name))
        if name not in freed:
            freed[name] = variable, cofactor
            continue
        first, other = freed[name]
        if {name} & {*plain_symbols(cofactor), *plain_symbols(other)}:
            return None
        guards.append(variable * encoder.exact(other) == first * encoder.exact(cofactor))
    return guards


def _is_sum_of(dim: Dim, terms: Container[Dim]) -> bool:
    return isinstance(dim, Size) and len(dim.terms) > 1 and all(Size((term,)) in terms for term in dim.terms)


def _is_tuple(builder: Builder, term: Term) -> bool:
    """Whether a term has several outputs; only its items have a Z3 term."""
    return isinstance(term, Apply) and len(builder.types(term)) > 1
