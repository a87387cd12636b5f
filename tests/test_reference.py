"""Ours against what the authors' released code computes (tests/data), to 1e-9."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ordering import RidgeObjective, frank_wolfe, linear_oracle, round_assignment
from tests.conftest import reference_clips

TIGHT = {"rtol": 1e-9, "atol": 0}


@pytest.fixture(scope="module")
def problem(reference):
    clips = reference_clips(reference["training_clips"])
    weight = np.ones(17)
    weight[-1] = reference["background_weight"]
    objective = RidgeObjective(clips.features, float(reference["lam"]), reference["kappa"], weight)
    supervised = np.full(len(clips.labels), -1)
    rows = reference["supervised_rows"]
    supervised[rows] = clips.labels[rows]
    return clips, objective, supervised


@pytest.fixture(scope="module")
def solution(problem, reference):
    clips, objective, supervised = problem
    return frank_wolfe(objective, clips, reference["Z0"], int(reference["n_iter"]), supervised=supervised)


def clamped_start(reference, supervised):
    Z0 = reference["Z0"].copy()
    Z0[supervised >= 0] = np.eye(17)[supervised[supervised >= 0]]
    return Z0


def test_value_gradient_and_oracle_at_the_start(problem, reference):
    clips, objective, supervised = problem
    Z0 = clamped_start(reference, supervised)
    assert_allclose(objective.value(Z0), reference["objective0"], **TIGHT)
    gradient = objective.gradient(Z0)
    assert np.abs(gradient - reference["gradient0"]).max() <= 1e-9 * np.abs(reference["gradient0"]).max()
    np.testing.assert_array_equal(linear_oracle(reference["gradient0"], clips), reference["oracle_labels0"])


def test_objective_and_gap_at_every_iteration(solution, reference):
    assert_allclose(solution.objective, reference["objective"], **TIGHT)
    assert_allclose(solution.duality_gap, reference["duality_gap"], **TIGHT)


def test_final_assignment_and_classifier(problem, solution, reference):
    W, b = problem[1].classifier(solution.Z)
    for ours, theirs in [(solution.Z, reference["Z"]), (W, reference["W"]), (b, reference["b"])]:
        assert np.abs(ours - theirs).max() <= 1e-9 * np.abs(theirs).max()


def test_rounding_of_the_reference_assignment_is_exactly_its_labels(problem, reference):
    clips = problem[0]
    np.testing.assert_array_equal(round_assignment(reference["Z"], clips), reference["rounded_labels"])


def test_rounding_of_our_assignment_costs_the_same(problem, solution, reference):
    ours = round_assignment(solution.Z, problem[0])
    rows = np.arange(len(ours))
    theirs = -2 * reference["Z"][rows, reference["rounded_labels"]].sum()
    assert_allclose(-2 * reference["Z"][rows, ours].sum(), theirs, rtol=0, atol=1e-9)


def test_the_gap_bounds_the_distance_to_a_better_value(problem, solution, reference):
    """The best lower bound of all passes lies below every value; so does no value of a longer run."""
    clips, objective, supervised = problem
    before = np.concatenate([[objective.value(clamped_start(reference, supervised))], solution.objective[:-1]])
    bound = np.max(before - solution.duality_gap)
    longer = frank_wolfe(objective, clips, solution.Z, 300, supervised=supervised)
    assert bound <= longer.objective[-1] < solution.objective[-1]


def test_float32_features_stay_close(problem, solution, reference):
    """Stated error: 1e-5 relative on the value, 1e-3 on the gap, after all passes in float32 products."""
    clips, _, supervised = problem
    narrow = reference_clips(reference["training_clips"], np.float32)
    weight = np.ones(17)
    weight[-1] = reference["background_weight"]
    objective = RidgeObjective(narrow.features, float(reference["lam"]), reference["kappa"], weight)
    assert_allclose(objective.value(solution.Z), solution.objective[-1], rtol=1e-5)
    run = frank_wolfe(objective, narrow, reference["Z0"], int(reference["n_iter"]), supervised=supervised)
    assert_allclose(run.objective[-1], reference["objective"][-1], rtol=1e-3)
    assert objective.features is narrow.features
