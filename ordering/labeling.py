"""The estimator: the whole method behind scikit-learn's interface."""

from __future__ import annotations

import importlib
import json
import os
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from ordering._check import number, one_of
from ordering._files import whole_file
from ordering._runs import runs
from ordering._stored import require_regular, stored_arrays
from ordering._version import __version__
from ordering.admissible import AdmissibleSet, as_set, random_blocks, round_scores
from ordering.clips import Clips, as_features, bad_values
from ordering.features import linear_scores
from ordering.objective import RidgeObjective
from ordering.solver import ENOUGH, InParts, Solution, descend

SOLVERS = {"frank-wolfe": (200, 0.0), "block": (100, ENOUGH)}  # passes and relative gap


class CollapseWarning(UserWarning):
    """The labels say next to nothing about when the actions happen."""


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
    n_iter, tol : int and float, optional
        Most passes, and the duality gap at which to stop. By default 200 and 0 (the released code) with "frank-wolfe",
        100 and a gap of 1 % of the objective with "block".
    random_state : int
        Seed of the start, the mean of two random vertices.
    k0 : float, optional
        The penalty for all clips together, in place of kappa0: kappa0 = k0 / N, which does not grow with the set.

    Attributes
    ----------
    labels_ : (N,) classes of the clips that were fitted
    Z_ : (N, C) relaxed assignment
    coef_ : (C, d), intercept_ : (C,)
        The classifiers, as in scikit-learn.
    solution_ : Solution
    n_iter_ : int, passes made

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

    def __init__(self, lam: float = 3.16e-4, kappa0: float = 1e-7, background_weight: float = 1.0,
                 solver: str = "frank-wolfe", rounding: str = "assignment", n_iter: int | None = None,
                 tol: float | None = None, random_state: int = 0, k0: float | None = None) -> None:
        self.lam = lam
        self.kappa0 = kappa0
        self.background_weight = background_weight
        self.solver = solver
        self.rounding = rounding
        self.n_iter = n_iter
        self.tol = tol
        self.random_state = random_state
        self.k0 = k0

    @staticmethod
    def recommended(**changes: Any) -> OrderedActionLabeling:
        """What we advise for own data: not the 2014 setting; ``changes`` are parameters of `ordering.recommended`.

        Examples
        --------
        >>> OrderedActionLabeling.recommended(centring=1.0)
        Recommended(centring=1.0)
        """
        from ordering.recommended import Recommended

        return Recommended(**changes)

    def fit(self, clips: Clips | AdmissibleSet, supervised: ArrayLike | None = None,
            callback: Any = None) -> OrderedActionLabeling:
        """Label clips and learn the classifiers; ``clips.labels`` are not read.

        Parameters
        ----------
        clips : Clips or AdmissibleSet
        supervised : (N,) ints, optional
            Known classes, -1 = unknown; see `frank_wolfe`. They are kept in `labels_`.
        callback : callable, optional
            See `frank_wolfe`.
        """
        one_of("solver", self.solver, SOLVERS)
        one_of("rounding", self.rounding, ("assignment", "classifier"))
        chosen = as_set(clips, supervised)
        objective = RidgeObjective(chosen.clips.features, self.lam, **self._per_class(chosen.clips))
        problem = InParts(objective, chosen, random_blocks(chosen, random_state=self.random_state),
                          self.solver == "block")
        n_iter, relative_tol = SOLVERS[self.solver]
        n_iter = n_iter if self.n_iter is None else self.n_iter
        tol, relative_tol = (0.0, relative_tol) if self.tol is None else (self.tol, 0.0)
        self.solution_: Solution = descend(problem, n_iter, tol, relative_tol, callback)
        self.n_iter_ = len(self.solution_.step)
        if (relative_tol or tol) and not self.solution_.converged:
            warnings.warn(f"OrderedActionLabeling: the solver's stop expected within {n_iter} passes, found a gap of "
                          f"{self.solution_.final_gap:.3g}; a larger n_iter, or tol, may do", ConvergenceWarning,
                          stacklevel=2)
        W, self.intercept_ = problem.classifier()
        self.coef_ = np.ascontiguousarray(W.T)
        self.n_features_in_ = self.coef_.shape[1]
        if self.rounding == "assignment":
            self.labels_ = problem.round()
        else:
            self.labels_ = round_scores(self.decision_function(chosen.clips.features), chosen)
        _warn_of_collapse(self.labels_, chosen)
        return self

    @property
    def Z_(self) -> np.ndarray:
        check_is_fitted(self, "solution_")
        return self.solution_.Z

    def fit_predict(self, clips: Clips | AdmissibleSet, supervised: ArrayLike | None = None) -> np.ndarray:
        """`fit`, then `labels_`."""
        return self.fit(clips, supervised).labels_

    def decision_function(self, features: Any) -> np.ndarray:
        """Scores (M, C) of features (M, d)."""
        check_is_fitted(self, "coef_")
        features = as_features(features)
        if features.shape[1] != self.n_features_in_:
            raise ValueError(f"features of shape (M, {self.n_features_in_}) expected, found {features.shape}")
        for row, column, value, _ in bad_values(features, [0, features.shape[0]]):
            raise ValueError(f"finite features expected, found {value} in row {row}, column {column}")
        return linear_scores(features, self.coef_.T, self.intercept_)

    def predict(self, clips: Clips) -> np.ndarray:
        """Labels (N,) of any clips: the classifier's scores, rounded under the clips' transcripts."""
        scores = self.decision_function(clips.features)
        if scores.shape[1] != clips.n_classes:
            raise ValueError(f"clips of {scores.shape[1]} classes expected, found {clips.n_classes}")
        return round_scores(scores, clips)

    def score(self, clips: Clips) -> float:
        """Frame accuracy of `predict` against ``clips.labels``."""
        if clips.labels is None or clips.labels.max() < 0:
            raise ValueError("clips with labels expected, found none")
        labelled = clips.labels >= 0
        return float(np.mean(self.predict(clips)[labelled] == clips.labels[labelled]))

    def save(self, path: str | os.PathLike[str], extra: Mapping[str, Any] | None = None) -> None:
        """Write parameters and what was learnt to one file (npz, no pickles), whole or not at all.

        Parameters
        ----------
        path : str or path
        extra : dict, optional
            Anything of JSON (such as the names of the actions); `load` gives it as ``model.extra_``.

        Notes
        -----
        `solution_` and `Z_` are not kept: they have the size of the data.

        Examples
        --------
        >>> import tempfile
        >>> X = np.repeat([[0.0], [1.0]], 5, axis=0)
        >>> model = OrderedActionLabeling(n_iter=9).fit(Clips(X, [10], [[0, 1]], 2, background=None))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     model.save(f"{folder}/model.npz", extra={"action_names": ["sit", "walk"]})
        ...     again = OrderedActionLabeling.load(f"{folder}/model.npz")
        >>> again, again.extra_["action_names"], bool(np.all(again.coef_ == model.coef_))
        (OrderedActionLabeling(n_iter=9), ['sit', 'walk'], True)
        """
        check_is_fitted(self, "coef_")
        about = {"class": type(self).__name__, "version": __version__, "parameters": self.get_params(deep=False),
                 "extra": dict(extra or {})}
        text = json.dumps(about, default=lambda value: value.tolist())  # of NumPy
        with whole_file(path, "wb") as file:
            np.savez(file, about=np.array(text), **self._arrays())

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> OrderedActionLabeling:
        """Read what `save` wrote: a fitted model without `solution_` and `Z_`, and with `extra_`."""
        require_regular(path)
        try:
            arrays = stored_arrays(path)
            about = json.loads(str(arrays.pop("about")))
            kind = next(kind for kind in _kinds(cls) if kind.__name__ == about["class"])
            model = kind(**about["parameters"])
            model._from_arrays(arrays)
            model.extra_ = dict(about["extra"])
        except OSError:
            raise
        except Exception as error:  # anything may stand in an array
            found = str(error) or type(error).__name__
            raise ValueError(f"{path}: a file of {cls.__name__}.save expected, found {found}") from None
        return model

    def _arrays(self):
        """What `save` keeps; a subclass adds what it learns besides."""
        return {name: getattr(self, name) for name in ("coef_", "intercept_", "labels_")}

    def _from_arrays(self, arrays):
        """Take what `_arrays` gave."""
        coef, intercept, labels = (arrays[name] for name in ("coef_", "intercept_", "labels_"))
        shapes_fit = coef.ndim == 2 and intercept.shape == coef.shape[:1] and labels.ndim == 1
        kinds = coef.dtype.kind + intercept.dtype.kind + labels.dtype.kind
        if not shapes_fit or kinds not in ("ffi", "ffu") or not np.all(np.isfinite(coef)) \
                or not np.all(np.isfinite(intercept)):
            raise ValueError(f"classifiers of shapes {coef.shape} and {intercept.shape}, or not finite")
        self.coef_, self.intercept_, self.labels_ = coef, intercept, labels
        self.n_features_in_ = coef.shape[1]

    def _per_class(self, clips):
        if clips.background is None:
            return {}
        each = number("k0", self.k0) / clips.n_intervals if self.k0 is not None else number("kappa0", self.kappa0)
        kappa = np.full(clips.n_classes, -each)
        kappa[-1] = each
        weight = np.ones(clips.n_classes)
        weight[-1] = self.background_weight
        return {"kappa": kappa, "class_weight": weight}


def _kinds(cls):
    """A class and all that are derived from it, the recommended setting among them."""
    importlib.import_module("ordering.recommended")
    return [cls, *(kind for derived in cls.__subclasses__() for kind in _kinds(derived))]


def _warn_of_collapse(labels, chosen):
    """Say so where most actions that could last got one interval, or nearly everything is one class."""
    clips = chosen.clips
    start, stop = runs(labels, clips.offsets[1:])
    unknown = slice(None) if chosen.known is None else chosen.known[start] < 0
    length, label = (stop - start)[unknown], labels[start][unknown]
    actions = length[label != clips.background_class]
    if len(actions) == 0 or length.sum() < 4 * len(actions):  # no room for more
        return
    single = np.mean(actions == 1)
    share = np.bincount(label, length).max() / length.sum()
    if single > 0.5 or (share > 0.95 and clips.n_actions > 1):
        warnings.warn(f"OrderedActionLabeling: the labels have collapsed: {single:.0%} of the action runs last one "
                      f"interval, one class has {share:.0%} of all intervals. The objective of 2014 prefers such "
                      "labels (chapter 'The background trap'); OrderedActionLabeling.recommended() does not, and "
                      "Ordered(clips, min_duration=...), a larger lam, or some labelled clips help",
                      CollapseWarning, stacklevel=3)
