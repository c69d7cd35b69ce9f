"""Terms: immutable, interned nodes of tensor programs, shared by models, rules and the enumerator."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from operator import attrgetter
from typing import TypeAlias, TypeVar
from weakref import WeakValueDictionary

from taso_opt.core.dims import Size
from taso_opt.core.types import TensorType

_N = TypeVar("_N", bound="_Node")
Scalar: TypeAlias = int | float | str | Size | TensorType
Attribute: TypeAlias = Scalar | tuple["Attribute", ...]
Attributes: TypeAlias = tuple[tuple[str, Attribute], ...]

OPAQUE = "Opaque"
"""The operator of every node that no specification covers; its attributes carry its identity and result types. It may
give anything, though it is given constants."""


class _Node:
    """What all terms share: the terms they are made of, and a digest that decides identity, hash and every order.

    Its `height` is 0 for a leaf and else one more than that of its highest child: what contains a term is higher.
    It `is_constant` if it is a constant or computed from constants alone, and so costs nothing when a model runs.
    """

    __slots__ = ("__weakref__", "_hash", "children", "digest", "height", "is_constant")
    digest: bytes
    children: tuple[Term, ...]
    height: int
    is_constant: bool
    _hash: int

    def __hash__(self) -> int:
        return self._hash

    def __lt__(self, other: Term) -> bool:
        return self.digest < other.digest

    def __reduce__(self) -> tuple[object, tuple[object, ...]]:
        return type(self), tuple(getattr(self, name) for name in self.__match_args__)  # type: ignore[attr-defined]


class Var(_Node):
    """A free variable: an input of a graph or a variable of a rule."""

    __slots__ = ("name", "type")
    __match_args__ = ("name", "type")
    name: str
    type: TensorType

    def __new__(cls, name: str, type: TensorType) -> Var:
        digest = _digest(b"var", name, type.dtype, str(type))
        found = _interned.get(digest)
        if found is not None:
            return found  # type: ignore[return-value]
        self = _register(object.__new__(cls), digest, ())
        self.name, self.type, self.is_constant = name, type, False
        return self

    def __repr__(self) -> str:
        return self.name


class Const(_Node):
    """A tensor whose value is fixed and kept elsewhere under `name`: a weight of a model or a named constant."""

    __slots__ = ("name", "type")
    __match_args__ = ("name", "type")
    name: str
    type: TensorType

    def __new__(cls, name: str, type: TensorType) -> Const:
        digest = _digest(b"const", name, type.dtype, str(type))
        found = _interned.get(digest)
        if found is not None:
            return found  # type: ignore[return-value]
        self = _register(object.__new__(cls), digest, ())
        self.name, self.type, self.is_constant = name, type, True
        return self

    def __repr__(self) -> str:
        return f"`{self.name}`"


class Apply(_Node):
    """An operator applied to arguments; its attributes are a tuple sorted by name."""

    __slots__ = ("args", "attributes", "operator")
    __match_args__ = ("operator", "args", "attributes")
    operator: str
    args: tuple[Term, ...]
    attributes: Attributes

    def __new__(cls, operator: str, args: tuple[Term, ...], attributes: Attributes = ()) -> Apply:
        own = (
            operator.encode(),
            *[argument.digest for argument in args],
            repr(attributes).encode() if attributes else b"",
        )
        digest = blake2b(b"".join(own), digest_size=16).digest()
        found = _interned.get(digest)
        if found is not None:
            return found  # type: ignore[return-value]
        self = _register(object.__new__(cls), digest, args)
        self.operator, self.args, self.attributes = operator, args, attributes
        self.is_constant = bool(args) and operator != OPAQUE and all(map(is_constant, args))
        return self

    def attribute(self, name: str) -> Attribute:
        """The value of one attribute; KeyError when the term has none of that name."""
        for key, value in self.attributes:
            if key == name:
                return value
        raise KeyError(name)

    def __repr__(self) -> str:
        return f"{self.operator}({', '.join(map(repr, self.args))}{'; ' if self.attributes else ''}" + (
            ", ".join(f"{name}={value}" for name, value in self.attributes) + ")"
        )


class Item(_Node):
    """One output of an operator that has several."""

    __slots__ = ("index", "term")
    __match_args__ = ("term", "index")
    term: Apply
    index: int

    def __new__(cls, term: Apply, index: int) -> Item:
        digest = _digest(b"item", index, term.digest)
        found = _interned.get(digest)
        if found is not None:
            return found  # type: ignore[return-value]
        self = _register(object.__new__(cls), digest, (term,))
        self.term, self.index, self.is_constant = term, index, term.is_constant
        return self

    def __repr__(self) -> str:
        return f"{self.term!r}[{self.index}]"


Term: TypeAlias = Var | Const | Apply | Item

is_constant: Callable[[Term], bool] = attrgetter("is_constant")
"""Whether a term is a constant or computed from constants alone."""

V = TypeVar("V")

_interned: WeakValueDictionary[bytes, _Node] = WeakValueDictionary()


def attributes_of(values: Mapping[str, Attribute]) -> Attributes:
    """Attributes in their canonical order."""
    return tuple(sorted(values.items()))


def attribute_text(value: object) -> str:
    """The value of an attribute, or of a part of one, as people read it."""
    return f"({', '.join(map(attribute_text, value))})" if isinstance(value, tuple) else str(value)


def with_children(term: Term, new: tuple[Term, ...]) -> Term:
    """The same node over other children."""
    if isinstance(term, Apply):
        return Apply(term.operator, new, term.attributes)
    if isinstance(term, Item):
        (inner,) = new
        assert isinstance(inner, Apply), f"Item needs an operator application, found {inner!r}"
        return Item(inner, term.index)
    return term


def opened(term: Term, is_open: Callable[[Term], bool]) -> list[Term]:
    """The operands, in order, of an expression whose operators are those that `is_open` says: a long sum, for one."""
    found: list[Term] = []
    stack = [term]
    while stack:
        top = stack.pop()
        if is_open(top):
            stack.extend(reversed(top.children))
        else:
            found.append(top)
    return found


def bottom_up(known: dict[Term, V], term: Term, find: Callable[[Term], V]) -> V:
    """What is known of a term, noted for it and all below it; `find` tells it from what its children have by then.

    Without recursion: terms are as deep as graphs.
    """
    stack = [] if term in known else [term]
    while stack:
        top = stack[-1]
        missing = [child for child in top.children if child not in known]
        if missing:
            stack.extend(missing)
            continue
        stack.pop()
        if top not in known:  # what stands below several terms is on the stack for each of them
            known[top] = find(top)
    return known[term]


def postorder(roots: Iterable[Term]) -> list[Term]:
    """Every term reachable from the roots, children before parents, without recursion."""
    done: dict[Term, None] = {}
    for root in roots:
        stack = [] if root in done else [(root, iter(root.children))]
        while stack:
            term, rest = stack[-1]
            for child in rest:
                if child in done:
                    continue
                if child.children:
                    stack.append((child, iter(child.children)))
                    break
                done[child] = None
            else:
                done[term] = None
                stack.pop()
    return list(done)


def variables(roots: Iterable[Term]) -> list[Var]:
    """The free variables in order of first occurrence."""
    return [term for term in postorder(roots) if isinstance(term, Var)]


def operator_count(roots: Iterable[Term]) -> int:
    """How many operator applications the roots are made of, shared ones counted once."""
    return sum(isinstance(term, Apply) for term in postorder(roots))


def _digest(kind: bytes, *parts: object) -> bytes:
    return blake2b(kind + repr(parts).encode(), digest_size=16).digest()


def _register(node: _N, digest: bytes, below: tuple[Term, ...]) -> _N:
    node.digest, node.children = digest, below
    node.height = 1 + max([child.height for child in below]) if below else 0
    node._hash = int.from_bytes(digest[:8], "little", signed=True)
    _interned[digest] = node
    return node
