"""Directions that were tried for the block solver, counted in passes over the features and in oracle calls.

    python benchmarks/tried.py

All variants solve the same problem (released lambda and kappa, synthetic clips) from the same start, down to the
gap that plain Frank-Wolfe has after its 200 passes. They are written here in plain NumPy; counts do not depend on
that, seconds would, and are not given. One pass reads the features once in each direction.

- plain: one oracle call on all clips, one exact step. The released code.
- at once: every clip makes its inner steps on the bound <G, V - Z> + (1/N) |V - Z|^2 with G fixed, then all clips
  move together, by one exact step.
- momentum: the same, G extrapolated from the last two iterates, forgotten where it turns uphill.
- pairwise: inner steps that move weight to the oracle's path from the worst of what is mixed: the clip's block as
  it was, and the paths found in this pass.
- one by one: clip after clip in random order, exact step and new classifier after each.
- by gap: one by one, clips drawn in proportion to the gap they had when last seen.
"""

import common
import numpy as np
from scipy.linalg import cholesky, solve_triangular
from solvers import LAM, kappa
from tqdm import tqdm

from ordering import linear_oracle, random_vertices
from ordering.admissible import one_hot
from ordering.synthetic import make_preset

MOST = 250  # passes


class Problem:
    """The objective on whitened features, so that one clip can move alone."""

    def __init__(self, clips):
        X = clips.features.astype(np.float64)
        X -= X.mean(axis=0)
        self.N, self.C, self.clips, self.kappa = len(X), clips.n_classes, clips, kappa(clips)
        factor = cholesky(X.T @ X + self.N * LAM * np.eye(X.shape[1]), lower=True)
        self.white = solve_triangular(factor, X.T, lower=True).T
        self.one = [clips.subset([i]) for i in range(len(clips))]
        self.starts = clips.offsets[:-1]
        self.calls = 0  # of the oracle, a clip each

    def gradient(self, Z, M, mean, rows=slice(None)):
        return 2 / self.N * (Z[rows] - mean - self.white[rows] @ M) + self.kappa

    def vertices(self, cost, i=None):
        """The oracle on all clips, or on clip i."""
        self.calls += len(self.clips) if i is None else 1
        return one_hot(linear_oracle(cost, self.clips if i is None else self.one[i]), self.C)

    def per_clip(self, values):
        return np.add.reduceat(values.sum(axis=1), self.starts)

    def exact_step(self, G, D, rows=slice(None)):
        """Step along D, and what it changes in M and mean."""
        dM, s = self.white[rows].T @ D, D.sum(axis=0)
        curvature = 2 / self.N * (np.sum(D * D) - s @ s / self.N - np.sum(dM * dM))
        slope = -np.sum(G * D)
        step = min(1.0, max(slope, 0) / curvature) if curvature > 0 else float(slope > 0)
        return step, step * dM, step * s / self.N


def inner_steps(problem, Z, G, n):
    """Frank-Wolfe on the bound, all clips side by side; the point reached."""
    V, H, scale = Z.copy(), G.copy(), 2 / problem.N
    for _ in range(n):
        D = problem.vertices(H) - V
        slope, curvature = -problem.per_clip(H * D), scale * problem.per_clip(D * D)
        step = np.clip(slope / np.maximum(curvature, 1e-300), 0, 1)
        D *= np.repeat(step, problem.clips.lengths)[:, None]
        V, H = V + D, H + scale * D
    return V


def pairwise_steps(problem, Z, G, n):
    """Pairwise steps on the bound; what is mixed is the clip's block of Z and the paths found in this pass."""
    V, H, scale, clips = Z.copy(), G.copy(), 2 / problem.N, problem.clips
    atoms = [[Z[clips.rows(i)]] for i in range(len(clips))]
    weights = [[1.0] for _ in atoms]
    for _ in range(n):
        S = problem.vertices(H)
        for i, (own, weight) in enumerate(zip(atoms, weights, strict=True)):
            rows = clips.rows(i)
            worst = int(np.argmax([np.vdot(H[rows], atom) for atom in own]))
            D = S[rows] - own[worst]
            curvature = scale * np.vdot(D, D)
            if curvature == 0:
                continue
            step = min(weight[worst], -np.vdot(H[rows], D) / curvature)
            V[rows] += step * D
            H[rows] += scale * step * D
            weight[worst] -= step
            known = [a for a, atom in enumerate(own) if np.array_equal(atom, S[rows])]
            if known:
                weight[known[0]] += step
            else:
                own.append(S[rows])
                weight.append(step)
            if weight[worst] <= 0:
                del own[worst], weight[worst]
    return V


def at_once(problem, Z, tol, n_inner, momentum=False, inner=inner_steps):
    """All clips side by side; the number of passes."""
    M, mean = problem.white.T @ Z, Z.mean(axis=0)
    t, beta, before, G_before = 1.0, 0.0, Z, None
    for p in range(MOST):
        G = problem.gradient(Z, M, mean)
        S = problem.vertices(G)
        if np.sum(G * (Z - S)) <= tol:
            return p
        if n_inner == 0:
            D = S - Z
        else:
            tilted = G if beta == 0 else G + beta * (G - G_before) - beta * 2 / problem.N * (Z - before)
            D = inner(problem, Z, tilted, n_inner) - Z
            if beta > 0 and np.sum(G * D) >= 0:
                D, beta, t = inner(problem, Z, G, n_inner) - Z, 0.0, 1.0
        step, dM, dmean = problem.exact_step(G, D)
        if momentum:
            if beta > 0 and beta * np.sum((Z - before) * D) > np.sum(D * D):
                t = 1.0
            t_next = (1 + np.sqrt(1 + 4 * t * t)) / 2
            beta, t, before, G_before = (t - 1) / t_next, t_next, Z, G
        Z, M, mean = Z + step * D, M + dM, mean + dmean
    return MOST


def one_by_one(problem, Z, tol, n_inner, by_gap):
    """Clip after clip; a pass is as many clips as there are."""
    rng, clips, scale = np.random.default_rng(0), problem.clips, 2 / problem.N
    Z, M, mean, n = Z.copy(), problem.white.T @ Z, Z.mean(axis=0), len(problem.clips)
    for p in range(MOST):
        G = problem.gradient(Z, M, mean)
        gaps = problem.per_clip(G * (Z - problem.vertices(G)))
        if gaps.sum() <= tol:
            return p
        order = rng.choice(n, n, p=gaps / gaps.sum()) if by_gap else rng.permutation(n)
        for i in order:
            rows = clips.rows(i)
            G = problem.gradient(Z, M, mean, rows)
            V, H = Z[rows].copy(), G.copy()
            for _ in range(n_inner):
                D = problem.vertices(H, i) - V
                curvature = scale * np.sum(D * D)
                if curvature == 0:
                    break
                D *= np.clip(-np.sum(H * D) / curvature, 0, 1)
                V, H = V + D, H + scale * D
            D = V - Z[rows]
            step, dM, dmean = problem.exact_step(G, D, rows)
            Z[rows] += step * D
            M, mean = M + dM, mean + dmean
    return MOST


def main():
    options = common.arguments(__doc__, ("preset", "book", "quick, book or paper"))
    clips = make_preset(options.preset)
    problem, Z0 = Problem(clips), random_vertices(clips)
    tol = plain_gap(problem, Z0)
    variants = [("plain", 1, at_once, {"n_inner": 0})]
    variants += [("at once", n, at_once, {"n_inner": n}) for n in (1, 3, 10, 30, 100)]
    variants += [("at once, momentum", n, at_once, {"n_inner": n, "momentum": True}) for n in (3, 10, 30, 100)]
    pairwise = {"momentum": True, "inner": pairwise_steps}
    variants += [("at once, momentum, pairwise", n, at_once, {"n_inner": n, **pairwise}) for n in (10, 30)]
    variants += [("one by one", n, one_by_one, {"n_inner": n, "by_gap": False}) for n in (1, 3, 10, 30, 100)]
    variants += [("one by one, by gap", n, one_by_one, {"n_inner": n, "by_gap": True}) for n in (10, 30)]
    rows = []
    for name, n_inner, solve, settings in tqdm(variants, "variants"):
        problem.calls = 0
        passes = solve(problem, Z0, tol, **settings)
        rows.append({"variant": name, "inner_steps": n_inner, "passes": passes if passes < MOST else f">= {MOST}",
                     "oracle_calls_a_clip": problem.calls / len(clips)})
    common.report("tried", rows, options, clips=len(clips), intervals=len(Z0), gap=tol)


def plain_gap(problem, Z):
    """The gap of plain Frank-Wolfe before its 200th step."""
    M, mean = problem.white.T @ Z, Z.mean(axis=0)
    for _ in range(200):
        G = problem.gradient(Z, M, mean)
        D = problem.vertices(G) - Z
        step, dM, dmean = problem.exact_step(G, D)
        Z, M, mean = Z + step * D, M + dM, mean + dmean
    return -np.sum(G * D)


if __name__ == "__main__":
    main()
