"""The Python interface: what the command line does, as functions that return records and print nothing."""

from taso_opt.api.comparison import compare
from taso_opt.api.explanation import explain
from taso_opt.api.optimization import optimize
from taso_opt.api.settings import CompareSettings, OptimizeSettings

__all__ = ["CompareSettings", "OptimizeSettings", "compare", "explain", "optimize"]
