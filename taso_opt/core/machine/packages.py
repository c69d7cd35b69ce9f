"""Which Python packages are installed, found without importing them."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version


def installed_version(name: str) -> str | None:
    """The version of an installed package; None if it is missing."""
    try:
        return version(name)
    except PackageNotFoundError:
        return None
