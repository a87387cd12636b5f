"""The setting that we advise for own recordings: a Gaussian classifier and a chain over each list, fitted in turns.

`estimator` is what `OrderedActionLabeling.recommended` returns; `features` prepares the features; `rounds` fits
classifier and chain, and chooses between ways of doing it without a label; `segments` looks at whole segments;
`grammar` labels recordings without a list. Explained in ``book/17-beyond-the-paper.ipynb``.
"""

from ordering.recommended.estimator import Recommended

__all__ = ["Recommended"]
