"""Frank-Wolfe: invariants of every pass, the certificate against a second solver, supervision, interruption."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import linprog, minimize

from ordering import (
    Clips,
    Ordered,
    RidgeObjective,
    admissible,
    block_frank_wolfe,
    frank_wolfe,
    linear_oracle,
    random_vertices,
)
from ordering.admissible import one_hot
from ordering.dtw import enumerate_paths
from ordering.ncut import NormalizedCut
from ordering.solver import Sums, blocks_of_start, descend, problem_of


@pytest.fixture(scope="module")
def objective(small):
    return RidgeObjective(small.features, 1e-2, kappa=1e-3 * np.array([-1, -1, -1, 1]))


def test_every_pass_keeps_its_promises(small, objective):
    Z0 = random_vertices(small)
    before, values, iterates = Z0.copy(), [objective.value(Z0)], []

    def check(solution):
        Z = solution.Z
        assert Z.min() >= 0 and Z.max() <= 1
        assert np.abs(Z.sum(axis=1) - 1).max() <= 1e-12
        assert_allclose(solution.objective[-1], objective.value(Z), rtol=1e-12)
        assert solution.objective[-1] <= values[-1] + 1e-15
        values.append(solution.objective[-1])
        iterates.append(Z)

    solution = frank_wolfe(objective, small, Z0, n_iter=120, callback=check)
    assert_array_equal(Z0, before)
    assert len(iterates) == 120 and iterates[0] is not iterates[1]
    for series in (solution.objective, solution.duality_gap, solution.step, solution.seconds):
        assert isinstance(series, np.ndarray) and series.shape == (120,)
    assert (np.diff(solution.seconds) >= 0).all() and (solution.duality_gap > 0).all()
    assert ((solution.step >= 0) & (solution.step <= 1)).all()
    gradient = objective.gradient(solution.Z)
    S = one_hot(linear_oracle(gradient, small), small.n_classes)
    assert_allclose(solution.final_gap, np.sum(gradient * (solution.Z - S)), rtol=1e-9)
    assert not solution.converged and "120" in solution.message


def test_the_gap_is_a_certificate_on_a_case_solved_otherwise():
    """Two clips small enough to list every vertex; the optimum over their hull by SLSQP on the weights."""
    rng = np.random.default_rng(3)
    clips = Clips(rng.standard_normal((11, 2)), [5, 6], [[0], [1]], 2)
    objective = RidgeObjective(clips.features, 0.05)
    vertices = [[one_hot(clips.states(i)[p], 3) for p in enumerate_paths(int(clips.lengths[i]), 3)]
                for i in range(2)]
    sizes = [len(v) for v in vertices]

    def assemble(weights):
        parts = np.split(weights, [sizes[0]])
        return np.concatenate([np.tensordot(w, np.array(v), axes=1) for w, v in zip(parts, vertices, strict=True)])

    constraints = [{"type": "eq", "fun": lambda w: w[:sizes[0]].sum() - 1},
                   {"type": "eq", "fun": lambda w: w[sizes[0]:].sum() - 1}]
    start = np.concatenate([np.full(n, 1 / n) for n in sizes])
    best = minimize(lambda w: objective.value(assemble(w)), start, bounds=[(0, 1)] * sum(sizes),
                    constraints=constraints, options={"ftol": 1e-14, "maxiter": 500})
    solution = frank_wolfe(objective, clips, random_vertices(clips), n_iter=3000)
    assert -1e-9 <= solution.objective[-1] - best.fun <= solution.final_gap + 1e-9
    assert solution.final_gap < 2e-4


def test_the_oracle_solves_the_linear_program():
    """Over the lifted description of the hull (order polytope), a second library finds the same value."""
    T, S = 9, 4
    rng = np.random.default_rng(0)
    clips = Clips(np.zeros((T, 1)), [T], [[0, 1, 0, 2]], 3, background=None)
    cost = rng.standard_normal((T, 3))
    D = cost[:, clips.states(0)]
    # u[t, k] = P(state at t >= k), k = 1..S-1; Y[t, k] = u[t, k] - u[t, k + 1]
    index = np.arange(T * (S - 1)).reshape(T, S - 1)
    c = np.zeros(T * (S - 1))
    for t in range(T):
        for k in range(S):
            if k > 0:
                c[index[t, k - 1]] += D[t, k]
            if k < S - 1:
                c[index[t, k]] -= D[t, k]
    rows = []
    for t in range(T - 1):
        for k in range(S - 1):
            rows.append({index[t, k]: 1, index[t + 1, k]: -1})
            if k + 1 < S - 1:
                rows.append({index[t + 1, k + 1]: 1, index[t, k]: -1})
    A = np.zeros((len(rows), c.size))
    for r, row in enumerate(rows):
        for j, value in row.items():
            A[r, j] = value
    bounds = [(0, 0) if t == 0 else (1, 1) if t == T - 1 else (0, 1) for t in range(T) for _ in range(S - 1)]
    for k in range(1, S - 1):
        bounds[index[1, k]] = (0, 0)
    result = linprog(c, A_ub=A, b_ub=np.zeros(len(rows)), bounds=bounds)
    labels = linear_oracle(cost, clips)
    assert_allclose(result.fun + D[:, 0].sum(), cost[np.arange(T), labels].sum(), atol=1e-9)


def test_tolerance_is_tested_before_the_step(small, objective):
    free = frank_wolfe(objective, small, random_vertices(small), n_iter=60)
    tol = free.duality_gap[40] * 1.0001
    first = int(np.argmax(free.duality_gap <= tol))
    solution = frank_wolfe(objective, small, random_vertices(small), n_iter=60, tol=tol)
    assert solution.converged and len(solution.step) == first + 1
    assert solution.step[-1] == 0 and solution.duality_gap[-1] <= tol
    assert_allclose(solution.objective[-1], solution.objective[-2], rtol=1e-14)
    assert_allclose(solution.final_gap, solution.duality_gap[-1], rtol=1e-9)


def test_a_vertex_that_is_optimal_stops_with_step_zero():
    """T = S leaves a single admissible assignment: the gap is 0 at once, and nothing becomes NaN."""
    clips = Clips(np.random.default_rng(0).standard_normal((5, 2)), [5], [[0, 1]], 2)
    solution = frank_wolfe(RidgeObjective(clips.features, 0.1), clips, random_vertices(clips))
    assert solution.converged and solution.step.tolist() == [0.0] and solution.duality_gap.tolist() == [0.0]
    assert np.isfinite(solution.Z).all()


def test_no_curvature_takes_the_full_step(small):
    class Linear:
        def value(self, Z):
            return float(np.sum(Z * COST))

        def gradient(self, Z):
            return COST

        def hessian(self, D):
            return np.zeros_like(D)

    COST = np.random.default_rng(0).standard_normal((len(small.features), 4))
    solution = frank_wolfe(Linear(), small, random_vertices(small), n_iter=5)
    assert solution.step.tolist() == [1.0, 0.0] and solution.converged


def test_callback_stops(small, objective):
    solution = frank_wolfe(objective, small, random_vertices(small), callback=lambda s: len(s.step) == 3)
    assert len(solution.step) == 3 and "callback" in solution.message and np.isfinite(solution.final_gap)


def test_ctrl_c_hands_over_the_solution(small, objective):
    def interrupt(solution):
        if len(solution.step) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as caught:
        frank_wolfe(objective, small, random_vertices(small), callback=interrupt)
    assert len(caught.value.solution.step) == 4 and caught.value.solution.final_gap > 0
    assert_allclose(objective.value(caught.value.solution.Z), caught.value.solution.objective[-1])


def test_no_passes(small, objective):
    solution = frank_wolfe(objective, small, random_vertices(small), n_iter=0)
    assert solution.objective.shape == (0,) and solution.final_gap > 0


def test_warm_start_goes_on(small, objective):
    first = frank_wolfe(objective, small, random_vertices(small), n_iter=30)
    second = frank_wolfe(objective, small, first.Z, n_iter=30)
    whole = frank_wolfe(objective, small, random_vertices(small), n_iter=60)
    assert_allclose(second.objective[-1], whole.objective[-1], rtol=1e-6)


def test_known_rows_stay(small, objective):
    known = np.full(len(small.labels), -1)
    known[small.rows(0)] = small.labels[small.rows(0)]
    known[small.rows(1).start + 2] = small.labels[small.rows(1).start + 2]
    solution = frank_wolfe(objective, small, random_vertices(Ordered(small, known)), n_iter=40, supervised=known)
    rows = known >= 0
    assert_array_equal(solution.Z[rows], one_hot(known[rows], 4))


def test_a_fully_known_clip_may_be_inadmissible(small, objective):
    known = np.full(len(small.labels), -1)
    known[small.rows(0)] = 0  # no background at either end
    solution = frank_wolfe(objective, small, random_vertices(small), n_iter=5, supervised=known)
    assert_array_equal(solution.Z[small.rows(0)], one_hot(known[small.rows(0)], 4))


def test_known_rows_that_no_path_goes_through(small, objective):
    known = np.full(len(small.labels), -1)
    rows = small.rows(2)
    known[rows.start] = small.states(2)[1]  # the first interval is background
    with pytest.raises(ValueError, match="clip 2"):
        frank_wolfe(objective, small, random_vertices(small), supervised=known)


@pytest.mark.parametrize("change, words", [
    (lambda Z, s: (Z[:-1], s), "Z0 of shape"), (lambda Z, s: (Z * 1.1, s), "clip 0"),
    (lambda Z, s: (Z - 0.1, s), "clip 0"), (lambda Z, s: (2 * Z - Z[:, ::-1], s), "a row of Z0 >= 0 .* expected"),
    (lambda Z, s: (np.where(Z > 2, Z, np.nan), s), "clip 0"),
    (lambda Z, s: (Z + 0j, s), "real numbers expected, found complex128"), (lambda Z, s: (None, s), "Z0 of shape"),
    (lambda Z, s: (Z, s[:-1]), "supervised"), (lambda Z, s: (Z, s + 5), "clip 0"),
    (lambda Z, s: (Z, s.astype(float)), "supervised")])
def test_bad_arguments(small, objective, change, words):
    Z, supervised = change(random_vertices(small), np.full(len(small.features), -1))
    with pytest.raises(ValueError, match=words):
        frank_wolfe(objective, small, Z, supervised=supervised)


def test_random_vertices(small):
    one = random_vertices(small, n=1, random_state=5)
    assert set(np.unique(one)) == {0.0, 1.0}
    assert_array_equal(one, random_vertices(small, n=1, random_state=5))
    assert not np.array_equal(one, random_vertices(small, n=1, random_state=6))
    assert set(np.unique(random_vertices(small, n=2))) <= {0.0, 0.5, 1.0}


@pytest.mark.parametrize("solver", [frank_wolfe, block_frank_wolfe])
def test_partly_known_clips_reach_one_optimum_from_every_start(solver):
    """A start that does not go through the known rows is repaired, else the gap would certify nothing."""
    X = np.random.default_rng(0).standard_normal((20, 3))
    clips = Clips(X, [10, 10], [[0, 1], [1, 0]], 2, background=None)
    known = np.full(20, -1)
    known[[2, 8, 15]] = 0, 1, 0
    objective, values, gaps = RidgeObjective(X, 0.01), [], []
    for seed in range(3):
        solution = solver(objective, clips, random_vertices(clips, random_state=seed), 500, supervised=known)
        assert_array_equal(solution.Z[:3, 0], 1)  # row 2 is class 0, so all before it are
        assert (solution.duality_gap >= -1e-12).all()
        values.append(solution.objective[-1])
        gaps.append(solution.final_gap)
    assert max(values) - min(values) <= max(gaps) + 1e-12


@pytest.mark.parametrize("solver", [frank_wolfe, block_frank_wolfe])
def test_a_start_off_the_hull_is_an_error(small, objective, solver):
    i = max(range(1, len(small)), key=lambda i: small.lengths[i] * (len(np.unique(small.states(i))) < 4))
    absent = np.setdiff1d(range(4), small.states(i))[0]
    Z = random_vertices(small)
    Z[small.offsets[i] + 2] = 0.75 * Z[small.offsets[i] + 2] + 0.25 * (np.arange(4) == absent)
    with pytest.raises(ValueError, match=rf"clip {i}, its row 2: a start in the hull.* found 0.25 on class {absent}, "
                                         "which is not among the clip's states"):  # fmt: skip
        solver(objective, small, Z)


@pytest.mark.parametrize("wrong", [{"n_iter": -1}, {"n_iter": 2.5}, {"tol": np.nan}, {"tol": "x"},
                                   {"relative_tol": np.nan}, {"relative_tol": "x"}])  # fmt: skip
def test_bad_stopping_rules(small, objective, wrong):
    with pytest.raises(ValueError, match=rf"^{list(wrong)[0]}: .* expected, found"):
        frank_wolfe(objective, small, random_vertices(small), **wrong)


class Scripted:
    """A problem whose sweeps add up to what a list says; it notes what it was asked for."""

    def __init__(self, sums, curvature=1.0):
        self.sums, self.curved, self.step, self.asked = iter(sums), curvature, 0.0, []

    def sweep(self, momentum, share, plain=False):
        self.asked.append("certified" if plain else (self.step, momentum, share))
        if not plain:
            self.last = next(self.sums, getattr(self, "last", None))
        return self.last

    def curvature(self):
        return self.curved

    def refresh(self):
        self.asked.append("refresh")


def test_the_loop_follows_nesterovs_weights_and_forgets_them_uphill():
    """The weights are (t - 1) / t' with t' = (1 + sqrt(1 + 4 t t)) / 2, from t = 1 anew after a turn or no descent."""
    fine = Sums(value=5.0, gap=4.0, slope=0.5, turn=-1.0, length=1.0)
    back, uphill = fine._replace(turn=20.0), fine._replace(slope=-0.5)
    problem = Scripted([*[fine] * 5, back, fine, fine, uphill, fine, fine, fine])
    solution = descend(problem, 12, 0.0)
    t, weights = 1.0, [0.0]
    for k in range(11):
        if k in (5, 8):
            t = 1.0
        before, t = t, (1 + np.sqrt(1 + 4 * t * t)) / 2
        weights.append((before - 1) / t)
    assert max(weights) > 0.5
    steps, momentum, shares = zip(*problem.asked[:12], strict=True)
    assert_allclose(momentum, weights)
    assert_allclose(steps, [0, *[0.5] * 8, 0, 0.5, 0.5])  # slope / curvature; none uphill
    assert shares == (None, *[0.1 * 4.0] * 11)
    assert problem.asked[12:] == ["refresh", "certified"] and solution.final_gap == 4.0
    assert_allclose(solution.objective, 5 - 0.125 * (solution.step > 0))  # less slope^2 / 2 curvature


@pytest.mark.parametrize("curvature, slope, step", [(2.0, 0.5, 0.25), (0.1, 0.5, 1.0), (0.0, 0.5, 1.0),
                                                    (-1e-9, 0.5, 1.0), (0.0, -0.5, 0.0), (2.0, -0.5, 0.0)])  # fmt: skip
def test_the_exact_line_search_stays_within_the_segment(curvature, slope, step):
    assert descend(Scripted([Sums(5.0, 4.0, slope, 0.0, 1.0)], curvature), 1, 0.0).step == [step]


@pytest.mark.parametrize("value, relative, stops", [(8.0, 0.5, True), (8.0, 0.49, False), (-8.0, 0.5, True),
                                                    (0.5, 0.5, False)])
def test_a_relative_tolerance_is_a_share_of_the_value(value, relative, stops):
    solution = descend(Scripted([Sums(value, 4.0, 0.5, 0.0, 1.0)]), 3, 0.0, relative)
    assert solution.converged == stops and len(solution.step) == (1 if stops else 3)


class Plain:
    """A ridge objective that is no `RidgeObjective`."""

    def __init__(self, objective):
        self.value, self.gradient, self.hessian = objective.value, objective.gradient, objective.hessian
        self.curvature_bound = objective.curvature_bound


@pytest.mark.parametrize("solver, same", [(frank_wolfe, 60), (block_frank_wolfe, 10)])
def test_an_objective_of_another_kind_goes_the_same_way(small, solver, same):
    """Classes without weight and with a large one included. Later inner solutions differ by what rounding does."""
    ridge = RidgeObjective(small.features, 1e-2, 1e-3 * np.array([-1, -1, -1, 1]), np.array([1e3, 0, 2, 5]))
    one, other = (solver(f, small, random_vertices(small), 60) for f in (ridge, Plain(ridge)))
    for series in ("objective", "duality_gap", "step"):
        assert_allclose(getattr(other, series)[:same], getattr(one, series)[:same], rtol=1e-5, atol=1e-9)
    assert_allclose(other.objective[-1], ridge.value(other.Z), rtol=1e-12)


class Incomplete:
    def value(self, Z):
        return 0.0

    gradient = hessian = value


@pytest.mark.parametrize("solver, wrong, message", [
    (frank_wolfe, object(), "gradient, hessian expected, object lacks value, gradient, hessian"),
    (block_frank_wolfe, Incomplete(), "curvature_bound expected, Incomplete lacks curvature_bound"),
    (frank_wolfe, RidgeObjective(np.zeros((5, 1)), 1.0), "objective: features of 174 intervals expected, .* found 5"),
    (frank_wolfe, RidgeObjective(np.zeros((174, 1)), 1.0, kappa=[1, 2]), "."),
    (block_frank_wolfe, RidgeObjective(np.zeros((174, 1)), 1.0, class_weight=[1, 2]), ".")])  # fmt: skip
def test_objectives_that_do_not_fit(small, solver, wrong, message):
    with pytest.raises(ValueError, match=message):
        solver(wrong, small, random_vertices(small), 2)


def test_the_callback_sees_the_pass_that_stops(small, objective):
    seen = []
    solution = frank_wolfe(objective, small, random_vertices(small), tol=1e-2,
                           callback=lambda s: seen.append(s.step[-1]))
    assert_array_equal(seen, solution.step)


@pytest.mark.parametrize("kind", ["ridge", "any"])
@pytest.mark.parametrize("solver, method", [(frank_wolfe, "vertex"), (block_frank_wolfe, "vertex"),
                                            (block_frank_wolfe, "nearest")])  # fmt: skip
@pytest.mark.parametrize("passes", [0, 1, 7])
def test_ctrl_c_in_the_middle_of_a_sweep(small, objective, monkeypatch, kind, solver, method, passes):
    """Some parts of the set are at the next iterate already; what is handed over is the last whole one."""
    monkeypatch.setattr(admissible, "ROWS_OF_A_PART", 40)
    chosen, start, calls = Ordered(small), random_vertices(small), iter(range(10**9))
    original, n_parts = getattr(admissible._Chains, method), len(chosen.parts())
    used = objective if kind == "ridge" else NormalizedCut(np.eye(len(start)) + 0.1)
    problem = problem_of(used, chosen, blocks_of_start(start, chosen), solver is block_frank_wolfe)

    def interrupted(*args):
        if next(calls) == n_parts * passes + 2:
            raise KeyboardInterrupt
        return original(*args)

    assert n_parts >= 4
    monkeypatch.setattr(admissible._Chains, method, interrupted)
    with pytest.raises(KeyboardInterrupt) as caught:
        descend(problem, 50, 0.0)
    monkeypatch.undo()
    solution, expected = caught.value.solution, solver(used, chosen, start, passes)
    assert len(solution.step) == passes and solution.message == "interrupted"
    assert_array_equal(solution.Z, expected.Z)
    assert_array_equal(solution.objective, expected.objective)
    assert_allclose(solution.final_gap, expected.final_gap, rtol=1e-12)
