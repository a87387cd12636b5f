"""Rows on labelled data, baselines and data of `book/paper-rows.md`; each fails if the row is wrong."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

import ordering
from ordering.baselines import normalized_cuts, supervised, uniform
from ordering.paper.experiments import draw_split
from ordering.solver import one_hot
from ordering.synthetic import make_clips


def test_row_53_gradient_of_the_free_rows_is_that_of_the_whole():
    rng = np.random.default_rng(0)
    objective = ordering.RidgeObjective(rng.standard_normal((30, 4)), 0.1)
    Z, free = rng.dirichlet(np.ones(3), 30), np.arange(30) % 3 > 0
    D = np.zeros_like(Z)
    D[free] = rng.standard_normal((free.sum(), 3))
    slope = (objective.value(Z + 1e-5 * D) - objective.value(Z - 1e-5 * D)) / 2e-5
    assert_allclose(slope, np.sum(objective.gradient(Z)[free] * D[free]), rtol=1e-6)


def test_row_54_a_mean_over_labelled_rows_weighs_them_as_one_clip():
    """Loss of labelled rows over their number, as printed: each counts N / L times a row of the other mean."""
    rng = np.random.default_rng(1)
    X, Z, L = rng.standard_normal((40, 3)), rng.dirichlet(np.ones(2), 40), 10
    weight = np.where(np.arange(40) < L, 40 / L, 40 / 30)  # (1/L) sum + (1/U) sum, times N
    objective = ordering.RidgeObjective(X, 0.2, row_weight=weight)
    W, b = objective.classifier(Z)
    loss = np.sum((Z - X @ W - b) ** 2, axis=1)
    assert_allclose(objective.value(Z), loss[:L].mean() + loss[L:].mean() + 0.2 * np.sum(W**2), rtol=1e-9)


def test_row_55_fixed_rows_may_be_inadmissible():
    clips = ordering.Clips(np.zeros((6, 1)), [3, 3], [[0, 1], [0, 1]], 2, None)
    known = np.array([1, 1, 0, -1, -1, -1])  # the first clip runs against its list
    objective = ordering.RidgeObjective(np.arange(6.0)[:, None], 0.1)
    solution = ordering.frank_wolfe(objective, clips, ordering.random_vertices(clips), 5, supervised=known)
    assert_allclose(solution.Z[:3], one_hot(known[:3], 2))


def test_row_57_the_trace_on_labels_is_not_the_normalised_cut():
    E = np.array([[1, 0.9, 0.1], [0.9, 1, 0.2], [0.1, 0.2, 1]])
    degree, Z = E.sum(axis=1), one_hot(np.array([0, 0, 1]), 2)
    L = np.eye(3) - E / np.sqrt(np.outer(degree, degree))
    cut = E[:2, 2].sum()
    assert abs(np.trace(Z.T @ L @ Z) - (cut / degree[:2].sum() + cut / degree[2])) > 0.05


def test_row_59_ncut_labels_keep_the_order():
    clips = make_clips(4, 30, random_state=0)
    labels = normalized_cuts(clips, n_iter=5)
    for i in range(4):
        found = labels[clips.rows(i)]
        runs = found[np.flatnonzero(np.diff(found, prepend=-1))]
        np.testing.assert_array_equal(runs, clips.states(i))


def test_row_61_with_all_labels_allowed_a_constant_assignment_costs_nothing():
    clips = make_clips(5, 20, random_state=0)
    objective = ordering.RidgeObjective(clips.features, 1e-3)
    constant = np.full((len(clips.labels), clips.n_classes), 1 / clips.n_classes)
    assert clips.lengths.min() >= clips.n_classes  # each action has a total of at least 1
    assert abs(objective.value(constant)) < 1e-12


@pytest.mark.parametrize("labels_of", [uniform, lambda clips: supervised(clips, clips.labels)])
def test_row_62_every_baseline_is_rounded_under_the_order(labels_of):
    clips = make_clips(5, 20, random_state=0)
    labels = labels_of(clips)
    for i in range(5):
        found = labels[clips.rows(i)]
        np.testing.assert_array_equal(found[np.flatnonzero(np.diff(found, prepend=-1))], clips.states(i))


def test_row_66_splits_that_are_the_best_of_many_are_more_alike():
    clips = make_clips(60, 5, random_state=0)
    presence = np.array([np.isin(np.arange(clips.n_actions), t) for t in clips.transcripts])

    def apart(tries):
        splits = [draw_split(clips.transcripts, clips.n_actions, (0, i), 0.2, tries) for i in range(5)]
        return np.mean([np.sqrt(np.abs(presence[s.val].mean(axis=0) - presence[s.eval].mean(axis=0))).sum()
                        for s in splits])

    assert apart(300) < 0.9 * apart(1)
