"""The block solver: same promises and same optimum as the batch solver."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

from ordering import (
    Clips,
    Ordered,
    RidgeObjective,
    block_frank_wolfe,
    frank_wolfe,
    random_vertices,
)
from ordering.admissible import bounds_of_parts, one_hot
from tests.conftest import reference_clips

KAPPA = 1e-3 * np.array([-1, -1, -1, 1])


def settings(clips):
    r = np.random.default_rng(0).random(len(clips.features)) + 0.2
    known = np.full(len(clips.features), -1)
    known[clips.rows(0)] = clips.labels[clips.rows(0)]
    known[clips.rows(1).start + 2] = clips.labels[clips.rows(1).start + 2]
    return {"plain": ({}, None), "kappa and weights": ({"kappa": KAPPA, "class_weight": [1, 2, 0.5, 0.3]}, None),
            "row weights": ({"kappa": KAPPA, "row_weight": r}, None), "supervised": ({"kappa": KAPPA}, known)}


@pytest.mark.parametrize("name", ["plain", "kappa and weights", "row weights", "supervised"])
@pytest.mark.parametrize("kind", [np.asarray, sp.csr_matrix])
def test_both_solvers_reach_the_same_optimum(small, name, kind):
    kwargs, known = settings(small)[name]
    objective = RidgeObjective(kind(small.features), 1e-2, **kwargs)
    Z0 = random_vertices(Ordered(small, known))
    block = block_frank_wolfe(objective, small, Z0, n_iter=400, supervised=known)
    batch = frank_wolfe(objective, small, Z0, n_iter=4000, supervised=known)
    assert block.final_gap < 1e-4 and block.final_gap < batch.final_gap
    assert abs(block.objective[-1] - batch.objective[-1]) <= block.final_gap + batch.final_gap
    # strong convexity off constants, which the hull excludes up to the null space: the two Z are close
    assert np.abs(block.Z - batch.Z).max() < 0.1
    if known is not None:
        assert_array_equal(block.Z[known >= 0], one_hot(known[known >= 0], 4))


def test_every_pass_keeps_its_promises(small):
    objective = RidgeObjective(small.features, 1e-2, KAPPA)
    Z0 = random_vertices(small)
    before, values = Z0.copy(), [objective.value(Z0)]

    def check(solution):
        Z = solution.Z
        assert Z.min() >= 0 and Z.max() <= 1
        assert np.abs(Z.sum(axis=1) - 1).max() <= 1e-12
        assert_allclose(solution.objective[-1], objective.value(Z), rtol=1e-10)
        assert solution.objective[-1] <= values[-1] + 1e-15
        values.append(solution.objective[-1])

    solution = block_frank_wolfe(objective, small, Z0, callback=check)
    assert_array_equal(Z0, before)
    assert solution.objective.shape == solution.duality_gap.shape == solution.step.shape == (50,)
    assert (solution.duality_gap > 0).all()  # a true gap in every pass
    assert_array_equal(block_frank_wolfe(objective, small, Z0).Z, solution.Z)


def test_reference_problem_to_the_released_gap_in_a_fifth_of_the_passes(reference):
    clips = reference_clips(reference["training_clips"])
    weight = np.ones(17)
    weight[-1] = reference["background_weight"]
    objective = RidgeObjective(clips.features, float(reference["lam"]), reference["kappa"], weight)
    known = np.full(len(clips.labels), -1)
    known[reference["supervised_rows"]] = clips.labels[reference["supervised_rows"]]
    solution = block_frank_wolfe(objective, clips, reference["Z0"], n_iter=len(reference["objective"]) // 5,
                                 tol=reference["duality_gap"][-1], supervised=known)
    assert solution.converged
    assert solution.objective[-1] <= reference["objective"][-1]


def test_float32(small):
    wide = block_frank_wolfe(RidgeObjective(small.features, 1e-2, KAPPA), small, random_vertices(small))
    narrow = block_frank_wolfe(RidgeObjective(small.features.astype(np.float32), 1e-2, KAPPA), small,
                               random_vertices(small))
    assert_allclose(narrow.objective[-1], wide.objective[-1], rtol=1e-5)


def test_tolerance(small):
    objective = RidgeObjective(small.features, 1e-2, KAPPA)
    solution = block_frank_wolfe(objective, small, random_vertices(small), tol=1e-3)
    assert solution.converged and solution.step[-1] == 0 and solution.duality_gap[-1] <= 1e-3
    assert (solution.duality_gap[:-1] > 1e-3).all()


def test_ctrl_c(small):
    def interrupt(solution):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        block_frank_wolfe(RidgeObjective(small.features, 1), small, random_vertices(small), callback=interrupt)
    assert len(caught.value.solution.step) == 1


@pytest.mark.parametrize("seed", range(5))
def test_parts_hold_every_clip_once(seed):
    rng = np.random.default_rng(seed)
    lengths = rng.integers(1, 900, rng.integers(1, 60))
    clips = Clips(np.zeros((lengths.sum(), 1)), lengths, [[0]] * len(lengths), 1, None)
    ends = bounds_of_parts(clips)
    assert np.concatenate([np.arange(*pair) for pair in ends]).tolist() == list(range(len(clips)))
    sizes = [lengths[first:last].sum() for first, last in ends]
    assert max(sizes) < 512 + lengths.max() and min(last - first for first, last in ends) > 0


def test_random_state_has_no_effect(small):
    objective = RidgeObjective(small.features, 1e-2, KAPPA)
    first, second = (block_frank_wolfe(objective, small, random_vertices(small), 5, random_state=seed).Z
                     for seed in (0, 1))
    assert_array_equal(first, second)
