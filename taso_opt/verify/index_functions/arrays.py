"""The array module whose tensors are index functions: meanings run on them unchanged, for all sizes at once."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from taso_opt.core.dims import Dim, divide
from taso_opt.errors import TypeMismatch
from taso_opt.spec.operator import Recurrence, ScalarFunction
from taso_opt.spec.shared.windows import WindowShares
from taso_opt.verify.index_functions.canonical import canonical
from taso_opt.verify.index_functions.elements import (
    ONE,
    ZERO,
    Access,
    Amount,
    Delta,
    Element,
    Entry,
    Greatest,
    Image,
    Lowered,
    Reciprocal,
    Sign,
    added,
    amount,
    guard_of,
    lone,
    multiplied,
    only_factor,
    scaled,
    summed,
)
from taso_opt.verify.index_functions.facts import Facts
from taso_opt.verify.index_functions.iterations import iterated
from taso_opt.verify.index_functions.layout import Layout, between, crossed, cut_by_terms, joined, merged, places, plain
from taso_opt.verify.index_functions.reshaping import groups, source_place
from taso_opt.verify.index_functions.tables import table_of
from taso_opt.verify.index_functions.tensors import Place, Tensor, common, elementwise, reduced, repeated, within
from taso_opt.verify.lookups import Lookup, place_of

MAX_ACCESSES = 5_000
"""Elements of variables that one proof may read; axioms read a dozen, and only a hostile rule reads thousands."""


class IndexArrays:
    """The primitives of meanings over tensors of symbolic sizes.

    A primitive records what it needs to be defined, as that a window fits into its image, in `facts`, and the
    declared facts of scalar functions that it uses in `used`. What tells `recurrences` apart is numbered. Where padding
    makes an axis of some size, sums over others of that size are cut in the same way.
    """

    def __init__(self, facts: Facts) -> None:
        self.facts = facts
        self.used: dict[str, None] = {}
        self.recurrences: dict[Hashable, int] = {}
        self._accesses = 0
        self._padded: dict[Dim, Layout] = {}

    def variable(self, name: str, shape: Sequence[Dim], sign: Sign = Sign.ANY) -> Tensor:
        """A tensor of unknowns, of which the sign may be known."""
        sizes = tuple(shape)

        def element(place: Place) -> Element:
            self._accesses += 1
            if self._accesses > MAX_ACCESSES:
                raise TypeMismatch(f"expected elements that read at most {MAX_ACCESSES} others, found more")
            return lone(Access(name, within(sizes, place), sign))

        return Tensor(sizes, tuple(map(plain, sizes)), element)

    def numbers(self, like: Tensor, name: str, shape: Sequence[Dim], values: Callable[[], NDArray[Any]]) -> Tensor:
        """Numbers of which nothing is known but their name."""
        return self.variable(name, shape)

    def shape(self, x: Tensor) -> tuple[Dim, ...]:
        """The sizes."""
        return x.shape

    def add(self, x: Tensor, y: Tensor) -> Tensor:
        """Element-wise sum with broadcasting."""
        return elementwise(added, x, y)

    def subtract(self, x: Tensor, y: Tensor) -> Tensor:
        """Element-wise difference with broadcasting."""
        return elementwise(lambda a, b: added(a, scaled(b, Fraction(-1))), x, y)

    def multiply(self, x: Tensor, y: Tensor) -> Tensor:
        """Element-wise product with broadcasting."""
        return elementwise(multiplied, x, y)

    def identity(self, like: Tensor, size: Dim) -> Tensor:
        """The identity matrix."""

        def element(place: Place) -> Element:
            row, column = place
            return ONE if size == 1 else lone(Delta(row, column, size))

        return Tensor((size, size), (plain(size), plain(size)), element)

    def divide(self, x: Tensor, y: Tensor) -> Tensor:
        """Element-wise quotient with broadcasting, as a product with the reciprocal."""
        return elementwise(lambda a, b: multiplied(a, _reciprocal(canonical(b))), x, y)

    def constant(self, value: Fraction) -> Tensor:
        """A scalar."""
        return Tensor((), (), lambda place: scaled(ONE, value))

    def scale(self, x: Tensor, factors: Fraction | NDArray[Any] | WindowShares) -> Tensor:
        """Multiply by a rational number, by a table of them for the last axes, or by the shares of these."""
        if isinstance(factors, Fraction):
            return Tensor(x.shape, x.layouts, lambda place: scaled(x.at(place), factors))
        if isinstance(factors, np.ndarray):
            table, rank = table_of(factors), factors.ndim
            return Tensor(
                x.shape, x.layouts, lambda place: multiplied(x.at(place), lone(Entry(table, tuple(place[-rank:]))))
            )
        axes = len(factors.kernel)

        def element(place: Place) -> Element:
            shares = (self._share(factors, axis, place[axis - axes]) for axis in range(axes))
            total = x.at(place)
            for share in shares:
                total = multiplied(total, share)
            return total

        return Tensor(x.shape, x.layouts, element)

    def _share(self, shares: WindowShares, axis: int, place: Dim) -> Element:
        """One over the number of elements of the image in one window along one axis."""
        width = shares.kernel[axis]
        if width == 1:  # pads are smaller than kernels
            return ONE
        if shares.padding_counts:
            return _reciprocal(canonical(amount(width)), self.facts.proves(width - 1))
        first = place * shares.strides[axis] - shares.pads[axis]
        ((tap, bound),) = places(self.facts, [plain(width)])
        inside = [_guard(self.facts, margin) for margin in _margins(first + tap[0], shares.sizes[axis])]
        count = canonical(summed(multiplied(*inside), bound))
        last, end = first + width - 1, shares.sizes[axis] - 1
        proper = all(self.facts.proves(margin) for margin in (end, last, end - first, width - 1))
        return _reciprocal(count, proper)

    def apply(self, function: ScalarFunction, x: Tensor) -> Tensor:
        """Map a function of which only the declared facts are known."""

        def element(place: Place) -> Element:
            argument = canonical(x.at(place))
            if function.zero_preserving and argument == ZERO:
                self.used[f"{function.name}(0) = 0"] = None
                return ZERO
            if function.one_preserving and argument == ONE:
                self.used[f"{function.name}(1) = 1"] = None
                return ONE
            factor = only_factor(argument)
            if function.idempotent and isinstance(factor, Image) and factor.function == function.name:
                self.used[f"{function.name}({function.name}(a)) = {function.name}(a)"] = None
                return argument
            return lone(Image(function.name, argument, function.monotone))

        return Tensor(x.shape, x.layouts, element)

    def contract(self, subscripts: str, x: Tensor, y: Tensor) -> Tensor:
        """Sum of products in Einstein notation over explicit axes, `...` standing for broadcast ones."""
        inputs, out = subscripts.split("->")
        left, right = inputs.split(",")
        batch = max(_batch(left, x), _batch(right, y))
        stars = tuple(f".{axis}" for axis in range(batch))
        names = [_axes(side, stars[batch - _batch(side, tensor) :]) for side, tensor in ((left, x), (right, y))]
        outs = _axes(out, stars)
        sizes: dict[str, Dim] = {}
        layouts: dict[str, Layout] = {}
        for tensor, axes in zip((x, y), names, strict=True):
            for name, size, layout in zip(axes, tensor.shape, tensor.layouts, strict=True):
                assert name in stars or sizes.get(name, size) == size, f"expected equal sizes in {subscripts}"
                known = name in sizes
                sizes[name], layouts[name] = (
                    common(sizes[name], layouts[name], size, layout) if known else (size, layout)
                )
        inner = [name for name in sizes if name not in outs]

        def element(place: Place) -> Element:
            total = ZERO
            for indices, bound in places(self.facts, [cut_by_terms(layouts[name], self._padded) for name in inner]):
                where = dict(zip((*outs, *inner), (*place, *indices), strict=True))
                factors = [_picked(tensor, axes, where) for tensor, axes in zip((x, y), names, strict=True)]
                total = added(total, summed(multiplied(*factors), bound))
            return total

        return Tensor(tuple(sizes[name] for name in outs), tuple(layouts[name] for name in outs), element)

    def sum(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """Sum over axes counted from the end, which disappear."""

        def total(whole: Callable[[Place], Element]) -> Element:
            walks = places(self.facts, [cut_by_terms(x.layouts[axis], self._padded) for axis in sorted(axes)])
            return added(*(summed(whole(indices), bound) for indices, bound in walks))

        return reduced(x, axes, total)

    def maximum(self, x: Tensor, axes: Sequence[int]) -> Tensor:
        """Greatest element over axes counted from the end, which disappear."""

        def greatest(whole: Callable[[Place], Element]) -> Element:
            ((indices, bound),) = places(self.facts, [plain(x.shape[axis]) for axis in sorted(axes)])
            inner = whole(indices)
            return lone(Greatest(bound, inner)) if bound else inner

        return reduced(x, axes, greatest)

    def concatenate(self, parts: Sequence[Tensor], axis: int) -> Tensor:
        """Join along an axis counted from the end."""
        starts: list[Dim] = [0]
        for part in parts:
            starts.append(part.shape[axis] + starts[-1])

        def element(place: Place) -> Element:
            total = ZERO
            for part, start in zip(parts, starts[:-1], strict=True):
                local = place[axis] - start
                inside = multiplied(*(_guard(self.facts, margin) for margin in _margins(local, part.shape[axis])))
                if inside != ZERO:
                    total = added(total, multiplied(inside, part.at(_with(place, axis, local))))
            return total

        layouts = list(parts[0].layouts)
        for part in parts[1:]:
            layouts = [merged(one, other) for one, other in zip(layouts, part.layouts, strict=True)]
        layouts[axis] = joined([part.layouts[axis] for part in parts])
        return Tensor(_with(parts[0].shape, axis, starts[-1]), tuple(layouts), element)

    def slice(self, x: Tensor, axis: int, start: Dim, stop: Dim) -> Tensor:
        """Elements start to stop along an axis counted from the end."""
        layouts = list(x.layouts)
        layouts[axis] = between(layouts[axis], start, stop)
        return Tensor(
            _with(x.shape, axis, stop - start),
            tuple(layouts),
            lambda place: x.at(_with(place, axis, place[axis] + start)),
        )

    def gather(self, x: Tensor, places: Tensor, axis: int) -> Tensor:
        """What lies along an axis counted from the end at each place that a tensor of unknowns names."""
        at, rank = axis + len(x.shape), len(places.shape)

        def element(place: Place) -> Element:
            told = only_factor(canonical(places.at(place[at : at + rank])))
            if not isinstance(told, Access):
                raise TypeMismatch("expected places that are the elements of one variable")
            found = place_of(Lookup(told.tensor, told.place, x.shape[axis]))
            return x.at([*place[:at], found, *place[at + rank :]])

        layouts = (*x.layouts[:at], *places.layouts, *x.layouts[at + 1 :])
        return Tensor((*x.shape[:at], *places.shape, *x.shape[at + 1 :]), layouts, element)

    def transpose(self, x: Tensor, permutation: Sequence[int]) -> Tensor:
        """Permute the axes."""

        def element(place: Place) -> Element:
            return x.at([index for _, index in sorted(zip(permutation, place, strict=True), key=lambda pair: pair[0])])

        return Tensor(
            tuple(x.shape[axis] for axis in permutation), tuple(x.layouts[axis] for axis in permutation), element
        )

    def reshape(self, x: Tensor, shape: Sequence[Dim]) -> Tensor:
        """The same elements in row-major order under another shape."""
        new = tuple(shape)
        divisions = groups(x.shape, new)
        layouts = [plain(size) for size in new]
        for group in divisions:
            margin = _size(x.shape, group.old) - _size(new, group.new)
            for one in (margin, -1 * margin):
                self.facts.suppose(one, "a reshape keeps the number of elements")
            if len(group.new) == 1 and margin == 0:
                layouts[group.new[0]] = crossed([x.layouts[axis] for axis in group.old])
        return Tensor(new, tuple(layouts), lambda place: x.at(source_place(self.facts, divisions, x.shape, new, place)))

    def broadcast(self, x: Tensor, shape: Sequence[Dim]) -> Tensor:
        """The same elements repeated along axes of size one, and along new ones before the first, up to a shape."""
        sizes = tuple(shape)
        whole = Tensor(sizes, tuple(map(plain, sizes)), lambda place: ZERO)
        return elementwise(lambda element, _: element, x, whole)

    def pad(self, x: Tensor, widths: Sequence[tuple[Dim, Dim]], lowest: bool = False) -> Tensor:
        """Pad the last axes with zeros, or with what loses every comparison."""
        rank = len(x.shape)
        full = [(0, 0)] * (rank - len(widths)) + list(widths)
        padded = [axis for axis in range(rank) if full[axis] != (0, 0)]
        shape = tuple(begin + size + end for (begin, end), size in zip(full, x.shape, strict=True))
        layouts = tuple(
            joined([plain(begin), layout, plain(end)]) if (begin, end) != (0, 0) else layout
            for (begin, end), layout in zip(full, x.layouts, strict=True)
        )

        self._padded.update((shape[axis], layouts[axis]) for axis in padded)

        def element(place: Place) -> Element:
            inner = [index - begin for index, (begin, _) in zip(place, full, strict=True)]
            margins = [margin for axis in padded for margin in _margins(inner[axis], x.shape[axis])]
            if lowest:
                open_margins = tuple(margin for margin in margins if not self.facts.surely(margin))
                return lone(Lowered(open_margins, x.at(inner))) if open_margins else x.at(inner)
            return multiplied(_product([_guard(self.facts, margin) for margin in margins]), x.at(inner))

        return Tensor(shape, layouts, element)

    def iterate(
        self, step: Recurrence, rows: Tensor, state: Sequence[Tensor], operands: Sequence[Tensor]
    ) -> tuple[Tensor, ...]:
        """The states of a recurrence after each row."""
        return iterated(self, step, rows, state, operands)

    def windows(self, x: Tensor, kernel: Sequence[Dim], strides: Sequence[Dim], dilations: Sequence[Dim]) -> Tensor:
        """All windows over the last axes; the positions inside a window become new last axes."""
        axes = len(kernel)
        outputs: list[Dim] = []
        for size, width, stride, dilation in zip(x.shape[-axes:], kernel, strides, dilations, strict=True):
            span = size - (dilation * (width - 1) + 1)
            self.facts.suppose(span, "a window is no larger than the padded image")
            outputs.append(divide(span, stride) + 1)
        shape = (*x.shape[:-axes], *outputs, *kernel)

        def element(place: Place) -> Element:
            firsts, taps = place[-2 * axes : -axes], place[-axes:]
            steps = zip(firsts, strides, taps, dilations, strict=True)
            return x.at([*place[: -2 * axes], *(at * stride + tap * dilation for at, stride, tap, dilation in steps)])

        return Tensor(shape, (*x.layouts[:-axes], *map(plain, shape[-2 * axes :])), element)


def _reciprocal(element: Element, proper: bool = False) -> Element:
    """One over an element in canonical form; if it is not `proper`, nothing is known of it but that.

    One over a product of sizes is the product of one over each: where the product is not zero, no size is.
    """
    if len(element.products) == 1:
        (one,) = element.products
        sizes = proper and not one.bound and all(isinstance(factor, Amount) for factor in one.factors)
        if one.coefficient and (sizes or not one.factors):
            return scaled(_product([lone(Reciprocal(lone(size), proper)) for size in one.factors]), 1 / one.coefficient)
    return lone(Reciprocal(element, proper))


def _picked(tensor: Tensor, axes: Sequence[str], where: dict[str, Dim]) -> Element:
    return tensor.at(repeated(tensor, [where[name] for name in axes]))


def _batch(side: str, tensor: Tensor) -> int:
    return len(tensor.shape) - len(side.replace("...", "")) if "..." in side else 0


def _axes(side: str, batch: Sequence[str]) -> tuple[str, ...]:
    before, dots, after = side.partition("...")
    return (*before, *(batch if dots else ()), *after)


def _margins(index: Dim, size: Dim) -> tuple[Dim, Dim]:
    """What is not negative exactly where an index lies inside an axis."""
    return index, size - 1 - index


def _guard(facts: Facts, margin: Dim) -> Element:
    """1 where the margin is not negative, 0 elsewhere."""
    if facts.surely(margin):
        return ONE
    return ZERO if facts.surely(-1 * margin - 1) else lone(guard_of(margin))


def _product(elements: Sequence[Element]) -> Element:
    total = ONE
    for element in elements:
        total = multiplied(total, element)
    return total


def _with(values: Sequence[Dim], axis: int, value: Dim) -> tuple[Dim, ...]:
    changed = list(values)
    changed[axis] = value
    return tuple(changed)


def _size(shape: Sequence[Dim], axes: Sequence[int]) -> Dim:
    total: Dim = 1
    for axis in axes:
        total = shape[axis] * total
    return total
