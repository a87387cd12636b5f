"""The estimator: the whole method behind scikit-learn's interface."""

from __future__ import annotations

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.exceptions import NotFittedError

from ordering.clips import as_features, bad_values
from ordering.objective import RidgeObjective, row_blocks
from ordering.rounding import round_assignment, round_scores
from ordering.solver import (
    block_frank_wolfe,
    check_supervised,
    frank_wolfe,
    path_constraints,
    random_vertices,
)

SOLVERS = {"frank-wolfe": frank_wolfe, "block": block_frank_wolfe}


class OrderedActionLabeling(BaseEstimator):
    """Label every interval of every clip and learn one linear classifier per class, from transcripts.

    Parameters
    ----------
    lam : float
        Ridge weight.
    kappa0 : float
        The linear penalty is kappa0 (-1, ..., -1, +1): it takes intervals from the background. No effect
        without background.
    background_weight : float
        Class weight of the background in the quadratic part. No effect without background.
    solver : {"frank-wolfe", "block"}
    rounding : {"assignment", "classifier"}
        Whether `labels_` comes from the relaxed assignment or from the classifier's scores.
    n_iter, tol : as in `frank_wolfe`
    random_state : int
        Seed of the start, the mean of two random vertices.

    Attributes
    ----------
    labels_ : (N,) classes of the clips that were fitted
    Z_ : (N, C) relaxed assignment
    coef_ : (C, d), intercept_ : (C,)
        The classifiers, as in scikit-learn.
    solution_ : Solution

    Notes
    -----
    The defaults are those of the released code. Explained in ``book/05-joint.ipynb`` and
    ``book/15-real-data.ipynb``.

    Examples
    --------
    >>> import numpy as np
    >>> from ordering import Clips
    >>> X = np.repeat([[0.0, 1.0], [1.0, 0.0]], 5, axis=0)
    >>> clips = Clips.from_list([X, X[::-1].copy()], [["walk", "sit"], ["sit", "walk"]], background=None,
    ...                         action_names=["walk", "sit"])
    >>> model = OrderedActionLabeling().fit(clips)
    >>> model.labels_[:10].tolist()
    [0, 0, 0, 0, 0, 1, 1, 1, 1, 1]
    """

    def __init__(self, lam=3.16e-4, kappa0=1e-7, background_weight=1.0, solver="frank-wolfe",
                 rounding="assignment", n_iter=200, tol=0.0, random_state=0):
        self.lam = lam
        self.kappa0 = kappa0
        self.background_weight = background_weight
        self.solver = solver
        self.rounding = rounding
        self.n_iter = n_iter
        self.tol = tol
        self.random_state = random_state

    def fit(self, clips, supervised=None, callback=None):
        """Label `clips`; `clips.labels` is never read.

        Parameters
        ----------
        clips : Clips
        supervised : (N,) ints, optional
            Known classes, -1 = unknown.
        callback : callable, optional
            As in `frank_wolfe`.
        """
        for name, value, choices in [("solver", self.solver, SOLVERS),
                                     ("rounding", self.rounding, ("assignment", "classifier"))]:
            if value not in choices:
                raise ValueError(f"{name}: one of {sorted(choices)} expected, found {value!r}")
        known = check_supervised(supervised, clips)
        through = path_constraints(clips, known)
        objective = RidgeObjective(clips.features, self.lam, **self._per_class(clips))
        self.solution_ = SOLVERS[self.solver](
            objective, clips, random_vertices(clips, random_state=self.random_state, known=through),
            n_iter=self.n_iter, tol=self.tol, supervised=known, callback=callback)
        self.Z_ = self.solution_.Z
        W, self.intercept_ = objective.classifier(self.Z_)
        self.coef_ = np.ascontiguousarray(W.T)
        self.n_features_in_ = clips.features.shape[1]
        if self.rounding == "assignment":
            labels = round_assignment(self.Z_, clips, through)
        else:
            labels = round_scores(self.decision_function(clips.features), clips, through)
        self.labels_ = labels if known is None else np.where(known >= 0, known, labels)
        return self

    def fit_predict(self, clips, supervised=None):
        """`fit`, then `labels_`."""
        return self.fit(clips, supervised).labels_

    def decision_function(self, features):
        """Scores (M, C) of features (M, d)."""
        if not hasattr(self, "coef_"):
            raise NotFittedError("OrderedActionLabeling: call fit before this method")
        features = as_features(features)
        if features.shape[1] != self.n_features_in_:
            raise ValueError(f"features of shape (M, {self.n_features_in_}) expected, found {features.shape}")
        for row, column, value, _ in bad_values(features, [0, features.shape[0]]):
            raise ValueError(f"finite features expected, found {value} in row {row}, column {column}")
        scores = np.empty((features.shape[0], len(self.intercept_)))
        for rows in row_blocks(features.shape[0]):
            scores[rows] = features[rows] @ self.coef_.T + self.intercept_
        return scores

    def predict(self, clips):
        """Labels (N,) of any clips: the classifier's scores, rounded under the clips' transcripts."""
        scores = self.decision_function(clips.features)
        if scores.shape[1] != clips.n_classes:
            raise ValueError(f"clips of {scores.shape[1]} classes expected, found {clips.n_classes}")
        return round_scores(scores, clips)

    def score(self, clips):
        """Frame accuracy of `predict` against ``clips.labels``."""
        if clips.labels is None:
            raise ValueError("clips with labels expected, found labels=None")
        return float(np.mean(self.predict(clips) == clips.labels))

    def _per_class(self, clips):
        if clips.background is None:
            return {}
        kappa = np.full(clips.n_classes, -float(self.kappa0))
        kappa[-1] = self.kappa0
        weight = np.ones(clips.n_classes)
        weight[-1] = self.background_weight
        return {"kappa": kappa, "class_weight": weight}
