"""The Python interface: what the command line does, as functions that return values and print nothing."""

from taso_opt.api.comparison import compare_files
from taso_opt.api.explanation import explain_node
from taso_opt.api.models import compare, explain, optimize
from taso_opt.api.optimization import optimize_file
from taso_opt.api.result import Result
from taso_opt.api.rules import generate, verify, verify_library
from taso_opt.api.settings import CompareSettings, OptimizeSettings

__all__ = [
    "CompareSettings",
    "OptimizeSettings",
    "Result",
    "compare",
    "compare_files",
    "explain",
    "explain_node",
    "generate",
    "optimize",
    "optimize_file",
    "verify",
    "verify_library",
]
