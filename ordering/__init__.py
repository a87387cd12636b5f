"""Weakly supervised action labelling under ordering constraints.

After Bojanowski, Lajugie, Bach, Laptev, Ponce, Schmid and Sivic, ECCV 2014. Clips go in with the ordered list
of their actions, and come out with a label for every interval and one linear classifier per action.
"""

import importlib

from ordering._version import __version__
from ordering.admissible import (
    AdmissibleSet,
    Ordered,
    forward_backward,
    linear_oracle,
    random_vertices,
    round_assignment,
    round_scores,
    state_path,
)
from ordering.clips import Clips
from ordering.objective import RidgeObjective
from ordering.solver import Solution, block_frank_wolfe, frank_wolfe

_LATER = {"AtLeastOne": "at_least_one", "OrderedActionLabeling": "labeling"}  # heavier than the rest
_MODULES = ("baselines", "cluster", "datasets", "dtw", "metrics", "ncut", "paper", "plots", "synthetic")

__all__ = ["AdmissibleSet", "AtLeastOne", "Clips", "Ordered", "OrderedActionLabeling", "RidgeObjective", "Solution",
           "__version__", "block_frank_wolfe", "forward_backward", "frank_wolfe", "linear_oracle", "random_vertices",
           "round_assignment", "round_scores", "state_path"]


def __getattr__(name):
    if name in _LATER:
        return getattr(importlib.import_module(f"ordering.{_LATER[name]}"), name)
    if name in _MODULES:
        return importlib.import_module(f"ordering.{name}")
    raise AttributeError(f"module 'ordering' has no attribute {name!r}")


def __dir__():
    return sorted({*globals(), *_LATER, *_MODULES})
