"""Lets Python look for garbage rarely while millions of small objects are made that stay."""

from __future__ import annotations

import gc
from collections.abc import Iterator
from contextlib import contextmanager

THRESHOLDS = (100_000, 50, 100)
"""Objects made between two looks at the youngest, and how many looks before older ones are looked at too."""


@contextmanager
def rare_garbage_collection() -> Iterator[None]:
    """Inside, what exists already is left alone by the collector, and what is made anew is seldom looked at.

    Terms and what is known of them live as long as a search and refer to each other in no circle: looking for circles
    among them took a fifth of its time.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*THRESHOLDS)
    try:
        yield
    finally:
        gc.set_threshold(*before)
        gc.unfreeze()
