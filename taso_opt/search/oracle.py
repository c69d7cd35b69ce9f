"""What the search asks of a cost model; taso_opt.cost answers with measurements, tests with made-up numbers."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import Protocol, TypeVar

from taso_opt.core.term import Term
from taso_opt.cost import NOTHING, Around, Layouts

U = TypeVar("U", bound=Hashable)


class CostOracle(Protocol[U]):
    """Costs in seconds of graphs, as sums over the units that the runtime executes."""

    @property
    def adds_up(self) -> bool:
        """Whether a graph costs about what its kernels cost together: then what they do not gain is no gain."""
        ...

    def cost(self, outputs: Sequence[Term]) -> float:
        """The cost of a whole graph."""
        ...

    def units(self, outputs: Sequence[Term], boundary: Collection[Term] = ()) -> Sequence[U]:
        """What the runtime executes together of it, one entry for each kernel."""
        ...

    def likeness(self, outputs: Sequence[Term], boundary: Collection[Term], around: Around) -> Hashable:
        """What is the same for parts of graphs whose units and kernels have the same costs."""
        ...

    def learn(self, units: Iterable[U]) -> None:
        """Find out in which layouts all these units run."""
        ...

    def kernels(
        self,
        outputs: Sequence[Term],
        boundary: Collection[Term] = (),
        around: Around = NOTHING,
        units: Sequence[U] | None = None,
    ) -> Sequence[U]:
        """The units as they run in their place, and the conversions between layouts; `units` where they are known."""
        ...

    def execution(self, outputs: Sequence[Term]) -> tuple[Iterable[frozenset[Term]], Layouts]:
        """The terms of a graph that the runtime executes together, and the layouts of its values."""
        ...

    def prepare(self, units: Iterable[U]) -> None:
        """Make the costs of all these units known."""
        ...

    def known(self, unit: U) -> float | None:
        """The cost of one unit, None when it is not known."""
        ...

    def guess(self, unit: U) -> float | None:
        """The cost of one unit as far as it can be told without measuring anything, None where nothing tells."""
        ...

    def work(self, unit: U) -> int:
        """How many multiplications the products of one unit take, without measuring anything."""
        ...

    def worth(self, unit: U) -> float:
        """How many multiplications take as long as one unit, as far as its time is known."""
        ...
