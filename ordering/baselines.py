"""What the method is compared with: even split, hard EM, supervised ridge, normalised cuts, at least one.

Every baseline gives labels (N,) that are admissible: whatever it found is rounded under the order, as in the
paper. ``return_details=True`` gives what was found before that too. Explained in ``book/11-baselines.ipynb``.
"""

from dataclasses import dataclass

import numpy as np

from ordering._check import positive_integer
from ordering.admissible import as_set, check_supervised, one_hot, random_vertices, round_assignment, round_scores
from ordering.at_least_one import AtLeastOne
from ordering.features import linear_scores
from ordering.ncut import NormalizedCut, affinity, chi_squared_band
from ordering.objective import RidgeObjective
from ordering.solver import ENOUGH, Solution, block_frank_wolfe, frank_wolfe

__all__ = ["Details", "at_least_one", "hard_em", "normalized_cuts", "supervised", "uniform"]


@dataclass(frozen=True)
class Details:
    """All that a baseline found; None where it has no such thing.

    Attributes
    ----------
    labels : (N,) ints
        Rounded under the order: admissible.
    unordered : (N,) ints
        Rounded without it: the largest entry of each row of `Z`, or of `scores` if there is no `Z`.
    Z : (N, C) array
        Relaxed assignment.
    scores : (N, C) array
        The classifier's scores X W + b.
    W, b : (d, C) and (C,) arrays
        The classifier.
    solution : Solution
        The solver's account.
    """

    labels: np.ndarray
    unordered: np.ndarray
    Z: np.ndarray | None = None
    scores: np.ndarray | None = None
    W: np.ndarray | None = None
    b: np.ndarray | None = None
    solution: Solution | None = None


def uniform(clips):
    """Even split: the states of a clip share its intervals equally, as far as integers allow.

    Parameters
    ----------
    clips : Clips

    Returns
    -------
    (N,) int array
        Admissible. Interval t of T is in state floor(t S / T). Background that may be left out is.
        Explained in ``book/11-baselines.ipynb``.

    Examples
    --------
    >>> import numpy as np
    >>> from ordering import Clips
    >>> uniform(Clips(np.zeros((7, 1)), [7], [[0]], n_actions=1)).tolist()
    [1, 1, 1, 0, 0, 1, 1]
    """
    split = []
    for i, T in enumerate(clips.lengths):
        actions = clips.background == "optional" and len(clips.transcripts[i])
        states = clips.transcripts[i] if actions else clips.states(i)
        split.append(states[np.arange(T) * len(states) // T])
    return np.concatenate(split)


def hard_em(clips, lam=3.16e-4, n_iter=50, return_details=False):
    """Alternate ridge regression on the labels and labels from its scores, from the even split on.

    Both steps lower (1/N) ‖Z - X W - 1 b‖² + lam ‖W‖², so that it ends, often in a poor place: nothing is
    convex in Z and W together once Z is kept at 0 and 1.

    Parameters
    ----------
    clips : Clips
    lam : float > 0
    n_iter : int
        The most alternations; it stops when no label changes.
    return_details : bool

    Returns
    -------
    (N,) int array, or `Details` with ``scores``, ``W``, ``b`` of the last regression
        Explained in ``book/05-joint.ipynb``.

    Raises
    ------
    ValueError
        If lam <= 0 or n_iter < 1.

    Examples
    --------
    >>> from ordering.synthetic import make_clips
    >>> clips = make_clips(5, 30)
    >>> hard_em(clips).shape == clips.labels.shape
    True
    """
    positive_integer("n_iter", n_iter)
    objective = RidgeObjective(clips.features, lam)
    labels = uniform(clips)
    for _ in range(n_iter):
        W, b = objective.classifier(one_hot(labels, clips.n_classes))
        scores = linear_scores(clips.features, W, b)
        before, labels = labels, round_scores(scores, clips)
        if np.array_equal(before, labels):
            break
    if not return_details:
        return labels
    return Details(labels, scores.argmax(axis=1), scores=scores, W=W, b=b)


def supervised(clips, supervised, lam=3.16e-4, background_bias=0.0, return_details=False):
    """Ridge regression on the known rows only; the scores of all rows, rounded under the order.

    Parameters
    ----------
    clips : Clips
    supervised : (N,) ints
        Known classes, -1 = unknown.
    lam : float > 0
        The ridge is (number of known rows) lam ‖W‖².
    background_bias : float
        Added to the score of the background, where there is one.
    return_details : bool

    Returns
    -------
    (N,) int array, or `Details` with ``scores`` (bias included), ``W`` and ``b``
        Known rows are rounded like all others. Explained in ``book/11-baselines.ipynb``.

    Raises
    ------
    ValueError
        If no row is known, a class is out of range or lam <= 0.

    Notes
    -----
    "Supervised square loss" (SL) of the paper's section 6. Transcripts are used at rounding only.

    Examples
    --------
    >>> import numpy as np
    >>> from ordering.synthetic import make_clips
    >>> clips = make_clips(6, 30)
    >>> known = np.where(np.arange(len(clips.labels)) < clips.offsets[3], clips.labels, -1)
    >>> supervised(clips, known).shape == clips.labels.shape
    True
    """
    known = check_supervised(supervised, clips)
    if known is None:
        raise ValueError("supervised: at least one known row expected, found none")
    rows = np.flatnonzero(known >= 0)
    W, b = RidgeObjective(clips.features[rows], lam).classifier(one_hot(known[rows], clips.n_classes))
    if clips.background_class is not None:
        b[clips.background_class] += background_bias
    scores = linear_scores(clips.features, W, b)
    labels = round_scores(scores, clips)
    return Details(labels, scores.argmax(axis=1), scores=scores, W=W, b=b) if return_details else labels


def normalized_cuts(
    clips, alpha=0.1, beta=None, width=10, distances=None, n_iter=200, tol=0.0, relative_tol=ENOUGH, random_state=0,
    callback=None, return_details=False,
):  # fmt: skip
    """Normalised cuts (NCUT) under the same order: intervals near in time and looks should share a label.

    Minimises Tr(Z' B Z) over the hull of admissible assignments by `frank_wolfe`, where B = I - D^{-1/2} E
    D^{-1/2} and ``E_ij = exp(-alpha |i - j| - beta chi2(x_i, x_j))`` for ``|i - j| < width`` within a clip. There
    is no classifier: what an action looks like is not shared between clips.

    Parameters
    ----------
    clips : Clips
        Features are square-rooted histograms, >= 0.
    alpha, beta, width : float, float or None, int
        See `affinity`; width is d_min.
    distances : (N, width - 1) array, optional
        `chi_squared_band` of the clips, when it is at hand (then `width` has no effect); by far the dearest
        part.
    n_iter, tol, relative_tol, callback
        See `frank_wolfe`. After 200 passes the gap is up to half of the value, and nine labels in ten are those
        after 4,000; the block solver is slower here, as the Hessian is far from diagonal.
    random_state : int
        Of the start, the mean of two random vertices.
    return_details : bool

    Returns
    -------
    (N,) int array, or `Details` with ``Z`` and ``solution``
        Explained in ``book/11-baselines.ipynb``.

    Raises
    ------
    ValueError
        If features are negative, or alpha or beta is.

    Examples
    --------
    >>> from ordering.synthetic import make_clips
    >>> clips = make_clips(5, 30)
    >>> normalized_cuts(clips, n_iter=10).shape == clips.labels.shape
    True
    """
    if distances is None:
        distances = chi_squared_band(clips, width)
    elif len(distances) != clips.offsets[-1]:
        raise ValueError(f"distances: {clips.offsets[-1]} rows expected, found {len(distances)}")
    objective = NormalizedCut(affinity(distances, alpha, beta))
    start = random_vertices(clips, random_state=random_state)
    solution = frank_wolfe(objective, clips, start, n_iter, tol, callback=callback, relative_tol=relative_tol)
    labels = round_assignment(solution.Z, clips)
    if not return_details:
        return labels
    return Details(labels, solution.Z.argmax(axis=1), Z=solution.Z, solution=solution)


def at_least_one(
    clips, supervised=None, lam=3.16e-4, kappa0=1e-7, n_iter=50, tol=0.0, relative_tol=ENOUGH, random_state=0,
    callback=None, return_details=False, others=False,
):  # fmt: skip
    """The paper's objective without the order: each action of a transcript at least once in its clip.

    Minimises the ridge objective by `block_frank_wolfe` over the hull of assignments whose labels are in the clip's
    transcript or background, with every action present. The order comes in at rounding only.

    Parameters
    ----------
    clips : Clips
    supervised : (N,) ints, optional
        Known classes, -1 = unknown. Known rows are fixed.
    lam, kappa0 : float
        As in `OrderedActionLabeling`.
    n_iter, tol, relative_tol, callback
        See `block_frank_wolfe`.
    random_state : int
        Of the start, the mean of two vertices of random costs.
    return_details : bool
    others : bool
        See `AtLeastOne`.

    Returns
    -------
    (N,) int array, or `Details` with ``Z``, ``scores``, ``W``, ``b`` and ``solution``
        `labels` rounds ``Z``; known rows are kept. Explained in
        ``book/11-baselines.ipynb``.

    Raises
    ------
    ValueError
        If lam <= 0, or known rows leave no room for a clip's actions.

    Notes
    -----
    Bojanowski et al., ICCV 2013, as adapted in section 6 of the paper. The set is `AtLeastOne`.

    Examples
    --------
    >>> from ordering.synthetic import make_clips
    >>> clips = make_clips(5, 30)
    >>> at_least_one(clips, n_iter=10).shape == clips.labels.shape
    True
    """
    chosen, kappa = AtLeastOne(clips, supervised, others), None
    if clips.background_class is not None:
        kappa = np.where(np.arange(clips.n_classes) == clips.background_class, kappa0, -kappa0)
    objective = RidgeObjective(clips.features, lam, kappa)
    start = random_vertices(chosen, random_state=random_state)
    solution = block_frank_wolfe(objective, chosen, start, n_iter, tol, callback=callback, relative_tol=relative_tol)
    labels = round_assignment(solution.Z, as_set(clips, supervised))
    if not return_details:
        return labels
    W, b = objective.classifier(solution.Z)
    scores = linear_scores(clips.features, W, b)
    return Details(labels, solution.Z.argmax(axis=1), solution.Z, scores, W, b, solution)
