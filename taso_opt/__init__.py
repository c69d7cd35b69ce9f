"""tasoopt: rewrites ONNX models into faster equivalents with machine-discovered, proved rules.

The functions here are those of `taso_opt.api`, loaded when they are first used: `import taso_opt` alone imports nothing
heavy. `generate_rules`, `verify_rules` and `verify_library` are the commands generate, verify and verify --check; they
carry longer names because `taso_opt.generate` and `taso_opt.verify` are the packages that do the work.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from taso_opt.api import Result, compare, explain, optimize, verify_library
    from taso_opt.api import generate as generate_rules
    from taso_opt.api import verify as verify_rules

__version__ = "0.1.0"
__all__ = [
    "Result",
    "__version__",
    "compare",
    "explain",
    "generate_rules",
    "optimize",
    "verify_library",
    "verify_rules",
]

_HOMES = {
    "Result": "Result",
    "compare": "compare",
    "explain": "explain",
    "generate_rules": "generate",
    "optimize": "optimize",
    "verify_library": "verify_library",
    "verify_rules": "verify",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from taso_opt import api

    return getattr(api, _HOMES[name])


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
