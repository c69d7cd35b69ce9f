"""What a graph costs on this device: the units that the runtime executes, each measured once and remembered."""

from taso_opt.cost.device import Device, this_device
from taso_opt.cost.goal import LATENCY, QUANTITIES, Goal, parse_bytes, parse_objective, parse_percent
from taso_opt.cost.kernels.layout import NOTHING, Around, Layouts
from taso_opt.cost.kernels.units import Unit
from taso_opt.cost.kernels.work import type_bytes
from taso_opt.cost.measuring.measure import Measurer, spelling_keys
from taso_opt.cost.model import CostModel
from taso_opt.cost.table import CostEntry, CostTable, Decision, cache_folder
from taso_opt.cost.trade import BROKEN, TradeCost

__all__ = [
    "BROKEN",
    "LATENCY",
    "NOTHING",
    "Around",
    "CostEntry",
    "CostModel",
    "CostTable",
    "Decision",
    "Device",
    "Goal",
    "Layouts",
    "Measurer",
    "QUANTITIES",
    "TradeCost",
    "Unit",
    "cache_folder",
    "parse_bytes",
    "parse_objective",
    "parse_percent",
    "spelling_keys",
    "this_device",
    "type_bytes",
]
