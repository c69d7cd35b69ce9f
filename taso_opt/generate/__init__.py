"""Discovers candidate rules: enumerates terms and pairs those with equal fingerprints."""

from taso_opt.generate.pipeline import generate
from taso_opt.generate.settings import GenerateSettings, GenerateStats, Generation, PoolStats

__all__ = ["GenerateSettings", "GenerateStats", "Generation", "PoolStats", "generate"]
