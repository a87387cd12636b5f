"""Shared fixtures: the reference set and a small random data set."""

from pathlib import Path

import numpy as np
import pytest
from scipy.io import loadmat

from ordering import Clips

DATA = Path(__file__).parent / "data"


def reference_clips(training_clips, dtype=np.float64):
    """Clips of the reference set, read here without `ordering.datasets` so that neither tests the other."""
    mat = loadmat(DATA / "sixty_clips.mat", squeeze_me=False)
    features = [mat["X"][i, 0].astype(dtype) for i in training_clips]
    labels = [mat["Y"][i, 0].argmax(axis=1) for i in training_clips]
    transcripts = [mat["hw3"][0, i]["actid"].ravel().astype(int) - 1 for i in training_clips]
    return Clips.from_list(features, transcripts, n_actions=16, labels=labels)


@pytest.fixture(scope="session", params=["weak", "semi", "kappa"])
def reference(request):
    """One file of the released code's results, with its name under "name"."""
    with np.load(DATA / f"{request.param}.npz", allow_pickle=False) as file:
        return {"name": request.param, **{key: file[key] for key in file.files}}


@pytest.fixture(scope="session")
def small():
    """Twelve labelled clips of three actions, float64."""
    rng = np.random.default_rng(1)
    means = 2 * rng.standard_normal((4, 5))
    features, transcripts, labels = [], [], []
    for _ in range(12):
        transcript = rng.integers(0, 3, size=rng.integers(1, 4))
        states = np.full(2 * len(transcript) + 1, 3)
        states[1::2] = transcript
        label = np.repeat(states, rng.integers(1, 6, size=len(states)))
        features.append(means[label] + rng.standard_normal((len(label), 5)))
        transcripts.append(transcript)
        labels.append(label)
    return Clips.from_list(features, transcripts, n_actions=3, labels=labels)
