"""Weakly supervised action labelling under ordering constraints."""

from ordering._version import __version__

__all__ = ["__version__"]
