"""Rounding: from a relaxed assignment or from scores back to one label an interval."""

import numpy as np

from ordering.dtw import linear_oracle


def round_assignment(Z, clips, known=None):
    """Labels (N,) of the admissible assignment closest to Z (N, C) in Frobenius norm: the oracle on -2 Z.

    Section 3.3 of the paper. `known` as in `linear_oracle`. Explained in ``book/08-rounding.ipynb``.

    Examples
    --------
    >>> import numpy as np
    >>> from ordering import Clips
    >>> clips = Clips(np.zeros((3, 1)), [3], [[0, 1]], n_actions=2, background=None)
    >>> round_assignment([[1, 0], [0.8, 0.2], [0, 1]], clips).tolist()
    [0, 0, 1]
    """
    return linear_oracle(-2 * np.asarray(Z, dtype=np.float64), clips, known)


def round_scores(scores, clips, known=None):
    """Labels (N,) of the admissible assignment with the largest sum of scores (N, C): the oracle on -scores.

    The second rounding of the released code, with the classifier's scores X W + b in place of Z.

    Examples
    --------
    >>> import numpy as np
    >>> from ordering import Clips
    >>> clips = Clips(np.zeros((3, 1)), [3], [[0, 1]], n_actions=2, background=None)
    >>> round_scores([[0, 5], [3, 1], [0, 0]], clips).tolist()
    [0, 0, 1]
    """
    return linear_oracle(-np.asarray(scores, dtype=np.float64), clips, known)
