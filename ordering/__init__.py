"""Weakly supervised action labelling under ordering constraints.

After Bojanowski, Lajugie, Bach, Laptev, Ponce, Schmid and Sivic, ECCV 2014. Clips go in with the ordered list
of their actions, and come out with a label for every interval and one linear classifier per action.
"""

import importlib

from ordering._version import __version__
from ordering.clips import Clips
from ordering.dtw import linear_oracle, state_path
from ordering.labeling import OrderedActionLabeling
from ordering.objective import RidgeObjective
from ordering.rounding import round_assignment, round_scores
from ordering.solver import Solution, block_frank_wolfe, frank_wolfe, random_vertices

_MODULES = ("baselines", "datasets", "distributed", "dtw", "metrics", "paper", "plots", "synthetic")

__all__ = ["Clips", "OrderedActionLabeling", "RidgeObjective", "Solution", "__version__", "block_frank_wolfe",
           "frank_wolfe", "linear_oracle", "random_vertices", "round_assignment", "round_scores", "state_path"]


def __getattr__(name):
    if name in _MODULES:
        return importlib.import_module(f"ordering.{name}")
    raise AttributeError(f"module 'ordering' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_MODULES})
