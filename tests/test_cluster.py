"""The solver on a Dask cluster: equal to the one on one machine, and no result lost with a worker."""

import os
import signal
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
from dask.distributed import Client, LocalCluster
from numpy.testing import assert_allclose, assert_array_equal

from ordering import (
    Ordered,
    RidgeObjective,
    block_frank_wolfe,
    cluster,
    frank_wolfe,
    random_vertices,
    round_assignment,
    round_scores,
)
from ordering.features import linear_scores
from ordering.synthetic import make_clips

N_PARTS, LAM, KAPPA0 = 5, 1e-3, 1e-4


@pytest.fixture(scope="module")
def client():
    """A cluster of two processes."""
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None) as machines:
        with Client(machines) as client:
            yield client


@pytest.fixture(scope="module")
def clips():
    clips = make_clips(40, 30, random_state=3)
    clips.features = clips.features.astype(np.float64)
    return clips


def kappa(clips):
    return KAPPA0 * np.append(-np.ones(clips.n_actions), 1.0)


def known_labels(clips):
    """The first clip wholly known, of the fifth clip two rows."""
    known = np.full(len(clips.labels), -1)
    known[clips.rows(0)] = clips.labels[clips.rows(0)]
    rows = clips.rows(5).start + np.array([1, 4])
    known[rows] = clips.labels[rows]
    return known


def start_and_blocks(clips, known=None):
    """One start, whole and in blocks a part."""
    Z0 = random_vertices(Ordered(clips, known))
    ends = np.cumsum([load().features.shape[0] for load in cluster.split(clips, N_PARTS)])[:-1]
    return Z0, np.split(Z0, ends), ends


def assert_equal_runs(found, Z, expected, rtol=1e-9):
    assert_allclose(found.objective, expected.objective, rtol=rtol)
    assert_allclose(found.duality_gap, expected.duality_gap, rtol=rtol, atol=1e-14)
    assert_allclose(found.final_gap, expected.final_gap, rtol=rtol, atol=1e-14)
    assert_allclose(found.step, expected.step, rtol=1000 * rtol, atol=rtol)
    assert_allclose(Z, expected.Z, atol=rtol)
    assert (found.converged, found.message) == (expected.converged, expected.message)


def test_split_keeps_clips_and_order(clips):
    for n_parts in (1, 3, 40):
        parts = [load() for load in cluster.split(clips, n_parts)]
        assert n_parts / 2 < len(parts) <= n_parts
        assert_array_equal(np.concatenate([part.features for part in parts]), clips.features)
        assert [t.tolist() for part in parts for t in part.transcripts] == [t.tolist() for t in clips.transcripts]


@pytest.mark.parametrize("case", ["plain", "weights", "supervised", "sparse", "far from 0", "tolerance", "float32"])
def test_equal_to_one_machine(client, clips, case):
    used, known, tol, weight = clips.subset(np.arange(len(clips))), None, 0.0, None
    if case == "sparse":
        used.features = sp.csr_matrix(clips.features)
    elif case == "far from 0":
        used.features = clips.features + 100
    elif case == "float32":
        used.features = (clips.features + 100).astype(np.float32)
    elif case == "supervised":
        known = known_labels(clips)
    elif case == "weights":
        weight = np.linspace(0.3, 1, clips.n_classes)
    elif case == "tolerance":
        tol = 0.05
    Z0, blocks, ends = start_and_blocks(clips, known)
    options = {"n_iter": 25, "tol": tol}
    parts = cluster.Parts(client, cluster.split(used, N_PARTS))
    found = cluster.frank_wolfe(parts, LAM, kappa(clips), weight, blocks, **options,
                                supervised=None if known is None else np.split(known, ends))
    objective = RidgeObjective(used.features, LAM, kappa(clips), weight)
    expected = frank_wolfe(objective, used, Z0, **options, supervised=known)
    Z = np.concatenate(client.gather(found.Z))
    rtol = 1e-5 if case == "float32" else 1e-9
    assert_equal_runs(found, Z, expected, rtol)
    assert_array_equal(parts.round_assignment(found.Z), round_assignment(Z, clips))
    W, b = parts.classifier(found.Z, LAM)
    assert_allclose(W, objective.classifier(Z)[0], rtol=rtol, atol=rtol)
    assert_allclose(b, objective.classifier(Z)[1], rtol=rtol, atol=100 * rtol)
    assert_array_equal(parts.round_scores(W, b), round_scores(linear_scores(used.features, W, b), clips))


def test_gram_matrix_of_parts_is_that_of_all(client, clips):
    parts = cluster.Parts(client, cluster.split(clips, 13))  # more than one level of the tree
    objective = RidgeObjective(clips.features, LAM)
    assert parts.shape == clips.features.shape
    features = objective._features
    assert_allclose(parts.features.mean, features.mean, rtol=1e-12)
    assert_allclose(parts.features.gram, features.gram, atol=1e-12 * np.abs(features.gram).max())


def test_block_direction_reaches_the_same_optimum_in_fewer_passes(client, clips):
    parts = cluster.Parts(client, cluster.split(clips, N_PARTS))
    plain = cluster.frank_wolfe(parts, LAM, kappa(clips), n_iter=60)
    block = cluster.block_frank_wolfe(parts, LAM, kappa(clips), n_iter=50, tol=plain.final_gap)
    assert block.converged and len(block.step) <= 20
    objective = RidgeObjective(clips.features, LAM, kappa(clips))
    single = block_frank_wolfe(objective, clips, random_vertices(clips), n_iter=50, tol=plain.final_gap)
    assert abs(block.objective[-1] - single.objective[-1]) <= plain.final_gap
    assert_allclose(objective.value(np.concatenate(client.gather(block.Z))), block.objective[-1], rtol=1e-9)


def test_warm_start_from_the_blocks_of_another_solution(client, clips):
    parts = cluster.Parts(client, cluster.split(clips, N_PARTS))
    first = cluster.frank_wolfe(parts, LAM, n_iter=10)
    second = cluster.frank_wolfe(parts, LAM, n_iter=1, Z0=first.Z)
    assert_allclose(second.duality_gap[0], first.final_gap, rtol=1e-9)


def test_callback_stops(client, clips):
    parts = cluster.Parts(client, cluster.split(clips, N_PARTS))
    solution = cluster.frank_wolfe(parts, LAM, callback=lambda solution: len(solution.step) == 3)
    assert len(solution.step) == 3 and solution.message == "stopped by the callback"
    assert 0 < solution.final_gap and len(solution.Z) == N_PARTS


def load_and_count(load, folder):
    """Load a part, and leave a file that says so."""
    name = f"{os.getpid()}-{len(os.listdir(folder))}"
    open(os.path.join(folder, name), "x").close()
    return load()


def test_a_killed_worker_costs_a_recomputation_not_the_result(client, clips, tmp_path):
    loaders = [partial(load_and_count, load, str(tmp_path)) for load in cluster.split(clips, N_PARTS)]
    parts = cluster.Parts(client, loaders)
    Z0, blocks, _ = start_and_blocks(clips)
    before = set(client.run(os.getpid).values())
    holders = [pid for address, pid in client.run(os.getpid).items()
               if any(address in who for who in client.who_has(parts.clips).values())]
    assert len(os.listdir(tmp_path)) == N_PARTS

    def kill(solution):
        if len(solution.step) == 10:
            os.kill(holders[0], signal.SIGKILL)

    found = cluster.frank_wolfe(parts, LAM, kappa(clips), Z0=blocks, n_iter=30, callback=kill)
    expected = frank_wolfe(RidgeObjective(clips.features, LAM, kappa(clips)), clips, Z0, n_iter=30)
    assert_equal_runs(found, np.concatenate(client.gather(found.Z)), expected)
    assert len(os.listdir(tmp_path)) > N_PARTS  # the lost parts were loaded again
    client.wait_for_workers(2)
    assert holders[0] in before and holders[0] not in client.run(os.getpid).values()


def test_faults_are_named(client, clips):
    with pytest.raises(ValueError, match="at least one part"):
        cluster.Parts(client, [])
    narrow = make_clips(4, 7)
    with pytest.raises(ValueError, match="same numbers of features"):
        cluster.Parts(client, [*cluster.split(clips, 2), *cluster.split(narrow, 1)])
    parts = cluster.Parts(client, cluster.split(clips, 2))
    with pytest.raises(ValueError, match="lam"):
        cluster.frank_wolfe(parts, 0.0)
    with pytest.raises(ValueError, match="Z0 of shape"):
        cluster.frank_wolfe(parts, LAM, Z0=[np.ones((2, 2))] * 2)
