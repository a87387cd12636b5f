"""The program that a page of the book types out whole: its size, and what it computes on small clips."""

import json
from pathlib import Path

import numpy as np
import pytest

from ordering import Ordered, RidgeObjective, frank_wolfe, linear_oracle, random_vertices, round_scores
from tests.brute_force import first_of_ties, list_cuts, random_case

PAGE = Path(__file__).resolve().parents[1] / "book" / "08b-sixty-lines.ipynb"


def source():
    """Text of the cell that holds the program."""
    cells = json.loads(PAGE.read_text(encoding="utf8"))["cells"]
    (found,) = [text for cell in cells if "def frank_wolfe(" in (text := "".join(cell["source"]))]
    return found


@pytest.fixture(scope="module")
def program():
    names: dict = {}
    exec(source(), names)
    return names


def pairs(program, clips):
    return [(clips.rows(i), program["states_of"](clips.transcripts[i], clips.n_actions)) for i in range(len(clips))]


def test_it_is_sixty_lines_of_numpy():
    lines = source().splitlines()
    assert 50 <= sum(bool(line.strip()) for line in lines) <= 60
    assert max(map(len, lines)) <= 79
    assert [line for line in lines if "import" in line] == ["import numpy as np"]


@pytest.mark.parametrize("seed", range(100))
def test_the_path_is_the_cheapest_of_all(program, seed):
    """Whole numbers, so that there are ties; against enumeration and against the package."""
    rng = np.random.default_rng(seed)
    clips, _ = random_case(rng, longest=9, background="around")
    cost = rng.integers(0, 3, (clips.n_intervals, clips.n_classes)).astype(float)
    (rows, states), = pairs(program, clips)
    labels = program["cheapest"](cost, states)
    paths, listed, _ = list_cuts(clips)
    totals = cost[np.arange(len(cost)), listed].sum(axis=1)
    best = first_of_ties(paths[totals == totals.min()])
    np.testing.assert_array_equal(labels, states[best])
    np.testing.assert_array_equal(labels, linear_oracle(cost, clips))


def test_the_solver_is_the_packages(program, small):
    """Weights, a penalty and two known clips."""
    rng = np.random.default_rng(0)
    known = np.where(small.mask([0, 5]), small.labels, -1)
    weight, kappa = rng.uniform(0.5, 2, 4), 0.01 * rng.standard_normal(4)
    objective, start = RidgeObjective(small.features, 1e-2, kappa, weight), random_vertices(small)
    theirs = frank_wolfe(objective, Ordered(small, known), start, n_iter=60)
    f, clips = program["Ridge"](small.features, 1e-2, kappa, weight), pairs(program, small)
    Z, gaps, values = program["frank_wolfe"](f, clips, known, start, 60)
    np.testing.assert_allclose(Z, theirs.Z, atol=1e-10)
    np.testing.assert_allclose(gaps, theirs.duality_gap, rtol=1e-9)
    np.testing.assert_allclose(values, theirs.objective, rtol=1e-9)
    W, b = objective.classifier(Z)
    scores = round_scores(small.features @ W + b, Ordered(small, known))
    np.testing.assert_array_equal(program["by_classifier"](f, Z, clips, known), scores)
