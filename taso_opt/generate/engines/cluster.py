"""An engine on machines that run Dask: pieces of work go to its workers, and those of a lost worker go to others."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeVar

from taso_opt.errors import UnsupportedError
from taso_opt.generate.engines.workers import Engine
from taso_opt.generate.settings import VERSION
from taso_opt.spec import load_specs

Work = TypeVar("Work")
Result = TypeVar("Result")
Shared = TypeVar("Shared")

WAIT = "30s"
"""How long a scheduler may take to answer."""


@dataclass(frozen=True)
class Cluster:
    """The workers of one Dask scheduler."""

    client: Any

    def each(self, function: Callable[[Work], Result], work: Sequence[Work]) -> Iterator[tuple[int, Result]]:
        """See Engine."""
        from distributed import as_completed

        futures = self.client.map(function, work, pure=False)
        places = {future.key: place for place, future in enumerate(futures)}
        for future in as_completed(futures):
            yield places[future.key], future.result()

    def spread(
        self, function: Callable[[Shared, Work], Result], shared: Shared, work: Sequence[Work]
    ) -> Iterator[Result]:
        """See Engine."""
        sent = self.client.scatter([shared], hash=False)[0]
        for future in self.client.map(_with_shared, work, function=function, shared=sent, pure=False):
            yield future.result()


def _with_shared(piece: Any, function: Callable[[Any, Any], Result], shared: Any) -> Result:
    return function(shared, piece)


@contextmanager
def cluster(address: str) -> Iterator[Engine]:
    """The engine of the scheduler at an address such as tcp://10.0.0.1:8786.

    Raises UnsupportedError where Dask is missing, nobody answers, no worker is there or a worker would work with
    another version of the tool or other specs.
    """
    try:
        from distributed import Client
        from distributed.comm.addressing import get_address_host_port
    except ImportError as error:
        raise UnsupportedError("expected Dask for --cluster, found none: pip install distributed") from error
    try:
        get_address_host_port(address)  # a client with an address without a port waits for itself when it is given up
        client = Client(address, timeout=WAIT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise UnsupportedError(f"expected a Dask scheduler at {address}, found none that answers: {error}") from error
    with client, client.as_current():
        _check_workers(client, address)
        yield Cluster(client)


def _check_workers(client: Any, address: str) -> None:
    mine = _identity()
    found = client.run(_identity, on_error="return")
    if not found:
        raise UnsupportedError(f"expected at least one worker at {address}, found none")
    for worker, theirs in sorted(found.items()):
        if theirs != mine:
            raise UnsupportedError(
                f"expected tasoopt {mine[0]} with the same specs on every worker, found {theirs!r} on {worker}"
            )


def _identity() -> tuple[str, str]:
    """The version of the tool and the digest of its specs."""
    return VERSION, load_specs().digest
