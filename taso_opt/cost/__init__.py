"""What a graph costs on this device: the units that the runtime executes, each measured once and remembered."""

from taso_opt.cost.device import Device, this_device
from taso_opt.cost.measure import Measurer
from taso_opt.cost.model import CostModel
from taso_opt.cost.table import CostEntry, CostTable, cache_folder
from taso_opt.cost.units import Unit

__all__ = ["CostEntry", "CostModel", "CostTable", "Device", "Measurer", "Unit", "cache_folder", "this_device"]
