"""A set that the package does not know runs through all of it: thirty lines, and nothing else is touched."""

from itertools import product

import numpy as np
import pytest
from scipy.optimize import linear_sum_assignment

from ordering import (
    AdmissibleSet,
    Clips,
    OrderedActionLabeling,
    RidgeObjective,
    block_frank_wolfe,
    frank_wolfe,
    linear_oracle,
    random_vertices,
    round_assignment,
)
from ordering.admissible import one_hot


class AtMostOnce(AdmissibleSet):
    """One interval at most for each action of a clip, in any order, and background elsewhere."""

    def best(self, cost):
        labels = np.full(self.shape[0], self.clips.background_class)
        if self.known is not None:
            labels[self.known >= 0] = self.known[self.known >= 0]
        for i in range(len(self.clips)):
            rows, actions = self.clips.rows(i), np.unique(self.clips.transcripts[i])
            free = np.ones(rows.stop - rows.start, bool) if self.known is None else self.known[rows] < 0
            actions = actions[~np.isin(actions, labels[rows])]
            saved = np.maximum(cost[rows][free, -1:] - cost[rows][free][:, actions], 0)
            chosen, which = linear_sum_assignment(saved, maximize=True)
            worth = saved[chosen, which] > 0
            labels[np.arange(rows.start, rows.stop)[free][chosen[worth]]] = actions[which[worth]]
        return labels


def listed(clips, i, known):
    """All its assignments of clip i."""
    rows, C = clips.rows(i), clips.n_classes
    choices = [[*np.unique(clips.transcripts[i]), C - 1] if k < 0 else [k] for k in known[rows]]
    return [y for y in product(*choices) if all(y.count(a) <= 1 for a in clips.transcripts[i])]


@pytest.fixture
def clips():
    X = np.random.default_rng(0).standard_normal((15, 3))
    return Clips(X, [6, 5, 4], [[0, 1], [1, 2], [0]], 3)


@pytest.fixture
def known():
    return np.array([-1] * 7 + [1] + [-1] * 7)


def test_it_is_what_it_says(clips, known):
    for seed in range(50):
        cost = np.random.default_rng(seed).standard_normal((15, 4))
        labels = linear_oracle(cost, AtMostOnce(clips, known))
        assert labels[7] == 1
        for i in range(3):
            rows = clips.rows(i)
            best = min(cost[rows][np.arange(len(y)), y].sum() for y in map(list, listed(clips, i, known)))
            assert np.isclose(cost[rows][np.arange(rows.stop - rows.start), labels[rows]].sum(), best)


@pytest.mark.parametrize("solver, n_iter, gap", [(frank_wolfe, 1000, 3e-3), (block_frank_wolfe, 40, 3e-3)])
def test_solvers(clips, known, solver, n_iter, gap):
    """The gap over all assignments listed is the one that the solution tells."""
    chosen = AtMostOnce(clips, known)
    objective = RidgeObjective(clips.features, 0.1, kappa=[-0.02] * 3 + [0.02])
    start = random_vertices(chosen)
    solution = solver(objective, chosen, start, n_iter)
    assert np.all(np.diff(solution.objective) <= 1e-15)
    gradient, found = objective.gradient(solution.Z), 0.0
    for i in range(3):
        rows = clips.rows(i)
        vertices = np.array([one_hot(y, 4) for y in listed(clips, i, known)])
        found += np.sum(gradient[rows] * solution.Z[rows]) - np.min(np.sum(vertices * gradient[rows], axis=(1, 2)))
    assert abs(solution.final_gap - found) < 1e-12 and found < gap
    assert solution.Z[7].tolist() == [0, 1, 0, 0]


@pytest.mark.parametrize("solver", ["frank-wolfe", "block"])
def test_rounding_and_estimator(clips, known, solver):
    chosen = AtMostOnce(clips, known)
    model = OrderedActionLabeling(lam=0.1, k0=0.3, solver=solver, n_iter=50, tol=1e-2).fit(chosen)
    assert np.array_equal(model.labels_, round_assignment(model.Z_, chosen))
    for i in range(3):
        assert tuple(model.labels_[clips.rows(i)].tolist()) in listed(clips, i, known)
    other = OrderedActionLabeling(lam=0.1, k0=0.3, rounding="classifier").fit(chosen)
    assert other.labels_[7] == 1
    with pytest.raises(ValueError, match="supervised: known rows in the set expected"):
        model.fit(chosen, known)


def test_what_a_set_has_to_give(clips):
    with pytest.raises(NotImplementedError, match=r"AdmissibleSet: a method best\(cost\) expected, found none"):
        random_vertices(AdmissibleSet(clips))
