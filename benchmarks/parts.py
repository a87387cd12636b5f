"""Seconds of what a fit is made of, and of other ways to do it, at 77,706 intervals of 2000 features in float32.

    python benchmarks/parts.py

- A pass: the two products with the features on one read, the oracle. Products for six settings side by side, which
  is what settings that advance together would make.
- Before it: Gram matrix, and for each lambda one Cholesky factor and its inverse. The other way, one
  eigendecomposition and features rotated by it, after which a lambda costs only a diagonal.
- A split that leaves 40 % of the intervals out: the Gram matrix of the rest, or the whole less that of the others.
- Features that are mostly zero: both products as CSR and as a dense array, by the share of entries that are not.

Medians of several calls, in one process, on all cores. Features are random, as speed does not depend on them.
"""

import common
import numpy as np
import scipy.sparse as sp
from scipy.linalg import eigh
from tqdm import tqdm

from ordering import Clips, linear_oracle
from ordering.admissible import ROWS_OF_A_PART
from ordering.features import Features, row_blocks
from ordering.kernels.compile import in_threads
from ordering.objective import inverse_factor

CLASSES, SETTINGS, LAM = 17, 6, 3.16e-4
DENSITIES = (0.01, 0.05, 0.25)


def products(features, Z, W):
    """Both products on one read of the features, part by part as in the solvers."""
    W = W.astype(features.dtype)

    def both(rows):
        block = features.block(rows)
        return block @ W, Z[rows].astype(features.dtype).T @ block

    in_threads(both, [slice(first, first + ROWS_OF_A_PART) for first in range(0, len(Z), ROWS_OF_A_PART)])


def rotated(X, vectors):
    out = np.empty_like(X)
    for rows in row_blocks(len(X)):
        np.matmul(X[rows], vectors, out=out[rows])
    return out


def gram(X):
    return Features(X).gram


def tasks(rng, N, d):
    """Name and function of everything that is measured."""
    X = rng.standard_normal((N, d), dtype=np.float32)
    Z, W = rng.random((N, CLASSES)), rng.random((d, CLASSES))
    features = Features(X)
    yield "products of a pass, one setting", lambda: products(features, Z, W)
    wide_Z, wide_W = rng.random((N, CLASSES * SETTINGS)), rng.random((d, CLASSES * SETTINGS))
    yield f"products of a pass, {SETTINGS} settings together", lambda: products(features, wide_Z, wide_W)
    lengths = np.full(N // 83, 83)
    lengths[-1] += N - lengths.sum()
    transcripts = rng.integers(CLASSES - 1, size=(len(lengths), 3))
    clips = Clips(X[:, :1], lengths, transcripts, CLASSES - 1)
    yield "oracle", lambda: linear_oracle(Z, clips)
    yield "Gram matrix", lambda: gram(X)
    whole = features.gram
    yield "factor and its inverse", lambda: inverse_factor(whole, N * LAM)
    yield "eigenvectors of the Gram matrix", lambda: eigh(whole, driver="evd")
    vectors = eigh(whole, driver="evd")[1].astype(np.float32)
    yield "features rotated by them", lambda: rotated(X, vectors)
    kept = int(0.6 * N)
    yield "split: Gram matrix of the 60 % that stay", lambda: gram(X[:kept])
    yield "split: Gram matrix of the 40 % to take off", lambda: gram(X[kept:])
    few = N // 4
    for density in DENSITIES:
        X[:few] = rng.random((few, d), dtype=np.float32)
        X[:few] *= X[:few] < density
        sparse = sp.csr_matrix(X[:few])
        name = f"a quarter of the intervals, {density:.0%} not zero, CSR"
        own = Features(sparse)
        yield f"{name}: products", lambda own=own: products(own, Z[:few], W)
        yield f"{name}: Gram matrix", lambda S=sparse: gram(S)
    dense = Features(X[:few])
    yield "a quarter of the intervals, dense: products", lambda: products(dense, Z[:few], W)
    yield "a quarter of the intervals, dense: Gram matrix", lambda: gram(X[:few])


def main():
    options = common.arguments(__doc__, ("intervals", 77_706, "rows of the features"),
                               ("features", 2000, "their columns"), ("repeats", 5, "calls of each"))
    rows = []
    for what, function in tqdm(tasks(np.random.default_rng(0), options.intervals, options.features), total=17):
        rows.append({"what": what, "seconds": common.median_seconds(function, options.repeats)})
    common.report("parts", rows, options)


if __name__ == "__main__":
    main()
