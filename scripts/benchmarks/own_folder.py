"""A folder for one run of a script, with costs of its own: what was found before tells nothing of today's code."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

CACHE_VARIABLE = "TASOOPT_CACHE"


@contextmanager
def own_folder(name: str) -> Iterator[Path]:
    """A folder for models and the like, in which costs are kept as well; it is gone afterwards."""
    before = os.environ.get(CACHE_VARIABLE)
    with TemporaryDirectory(prefix=f"tasoopt-{name}-") as folder:
        os.environ[CACHE_VARIABLE] = str(Path(folder) / "cache")
        try:
            yield Path(folder)
        finally:
            del os.environ[CACHE_VARIABLE]
            if before is not None:
                os.environ[CACHE_VARIABLE] = before
