"""The authors' MAT files, and any file of their layout."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from ordering.clips import Clips
from ordering.datasets._matlab import read_mat
from ordering.datasets._reading import raise_faults


def load_willow(path: str | Path, background: str = "around", return_test: bool = False) -> Any:
    """Read `full_dataset.mat` or `dataset.mat` of the authors' project page.

    Parameters
    ----------
    path : str or path
        A MAT file, version 5 to 7.3 (the latter needs h5py: ``pip install 'ordering[mat]'``).
    background : {"around", "between", "optional"}
        Where background states are inserted, see `Clips`.
    return_test : bool
        Also return `Xtest` and `Ytest` of `dataset.mat`.

    Returns
    -------
    clips : Clips
        Features in the file's own dtype (the full file is float32), labels, and the file's order of clips.
        Actions count from 0; the last column of `Y` is the background (class 16 of the authors' files).
    Xtest, Ytest : (M, d) and (M, C) arrays
        With ``return_test=True``: held-out rows without borders of clips, as they are in the file.

    Raises
    ------
    ValueError
        The file is no MAT file, or a variable is missing or wrong; names file, variable and clip.

    Notes
    -----
    Variables that are read, n clips, T intervals, C - 1 actions and the background:

    ========== =========================================== ======================================
    variable   full_dataset.mat                            dataset.mat
    ========== =========================================== ======================================
    X          cell of n (T, d) matrices                   one (N, d) matrix of all rows
    Y          cell of n (T, C) matrices, one 1 in a row   the same
    annot                                                  cell of n rows of action numbers
    hw3        n structs; field `actid`: action numbers    the same (read where annot is missing)
    Xtest                                                  (M, d) matrix
    Ytest                                                  (M, C) matrix
    ========== =========================================== ======================================

    Action numbers count from 1 in the files. `X` may be a cell or a matrix in either file, and with a single
    clip a cell of one entry may also be its bare content. Explained in ``book/18-your-own-clips.ipynb``.

    Examples
    --------
    One clip of six intervals, its action (number 2) in the middle:

    >>> import tempfile
    >>> from scipy.io import savemat
    >>> folder = tempfile.TemporaryDirectory()
    >>> savemat(f"{folder.name}/set.mat", {"X": np.ones((6, 3)), "annot": [[2.0]],
    ...                                    "Y": np.eye(3)[[2, 2, 1, 1, 1, 2]]})
    >>> clips = load_willow(f"{folder.name}/set.mat")
    >>> clips.transcripts[0].tolist(), clips.labels.tolist()
    ([1], [2, 2, 1, 1, 1, 2])
    """
    if background not in ("around", "between", "optional"):
        raise ValueError(f'background: "around", "between" or "optional" expected, since the labels hold it, '
                         f"found {background!r}")
    variables = read_mat(path, ["X", "Y", "annot", "hw3"] + ["Xtest", "Ytest"] * return_test)
    actions = _willow_transcripts(path, variables)
    blocks = _cell(path, "Y", variables, len(actions))
    labels, n_classes = _willow_labels(path, blocks)
    features = _willow_features(path, variables, [len(part) for part in labels])
    try:
        clips = Clips(features, [len(part) for part in labels], [a - 1 for a in actions], n_classes - 1,
                      background=background, labels=np.concatenate(labels))
    except ValueError as error:
        raise ValueError(f"{path} (features from X, labels from Y, transcripts from annot or hw3): "
                         f"{error}") from None
    if not return_test:
        return clips
    return clips, *_willow_test(path, variables, features.shape[1], n_classes)


def _willow_transcripts(path, variables):
    """Action numbers of every clip, counted from 1 as in the file."""
    if "annot" in variables:
        name, entries = "annot", variables["annot"]
        entries = entries if isinstance(entries, list) else [entries]
    elif "hw3" in variables:
        name, structs = "hw3.actid", variables["hw3"]
        if not isinstance(structs, list) or not all(isinstance(s, dict) and "actid" in s for s in structs):
            raise ValueError(f"{path}: hw3: structs with a field actid expected")
        entries = [s["actid"] for s in structs]
    else:
        raise ValueError(f"{path}: a variable annot or hw3 expected, found neither")
    faults, actions = [], []
    for i, entry in enumerate(entries):
        numbers = np.ravel(entry) if isinstance(entry, np.ndarray) else np.array([np.nan])
        if numbers.dtype.kind not in "iuf" or not np.all((numbers >= 1) & (numbers < 2**31) & (numbers % 1 == 0)):
            faults.append(f"{name}, clip {i}: action numbers from 1 on expected, found {numbers[:20].tolist()}")
        else:
            actions.append(numbers.astype(np.int64))
    raise_faults(path, faults)
    return actions


def _willow_labels(path, blocks):
    """Labels (T,) of every clip, from one-hot rows, and the number of classes."""
    n_classes = blocks[0].shape[1]
    faults, labels = [], []
    for i, block in enumerate(blocks):
        if block.shape[1] != n_classes:
            faults.append(f"Y, clip {i}: {n_classes} columns expected as in clip 0, found {block.shape[1]}")
            continue
        wrong = np.flatnonzero((np.count_nonzero(block, axis=1) != 1) | (block.max(axis=1, initial=0) != 1))
        if len(wrong):
            faults.append(f"Y, clip {i}, row {wrong[0]}: one entry 1 and zeros expected, found "
                          f"{np.array2string(block[wrong[0]].astype(float), max_line_width=1000)}")
        labels.append(block.argmax(axis=1))
    if n_classes < 2:
        faults.append(f"Y: columns of at least one action and the background expected, found {n_classes}")
    raise_faults(path, faults)
    return labels, n_classes


def _willow_features(path, variables, lengths):
    """Features (N, d) of all clips, from a cell of clips or from one matrix."""
    X = variables.get("X")
    if isinstance(X, np.ndarray):
        if X.ndim != 2 or X.shape[0] != sum(lengths):
            raise ValueError(f"{path}: X: {sum(lengths)} rows expected, as many as Y has, found {X.shape}")
        return np.ascontiguousarray(X)
    blocks = _cell(path, "X", variables, len(lengths))
    width = blocks[0].shape[1]
    raise_faults(path, [f"X, clip {i}: shape {(T, width)} expected, found {block.shape}"
                  for i, (block, T) in enumerate(zip(blocks, lengths, strict=True))
                  if block.shape != (T, width)])
    return np.concatenate(blocks)


def _willow_test(path, variables, n_features, n_classes):
    for name, width in [("Xtest", n_features), ("Ytest", n_classes)]:
        found = variables.get(name)
        if not isinstance(found, np.ndarray) or found.ndim != 2 or found.shape[1] != width \
                or found.dtype.kind not in "iufb":
            shape = (f"{found.dtype} of shape {found.shape}" if isinstance(found, np.ndarray) else
                     "none" if found is None else "a cell")
            raise ValueError(f"{path}: {name}: a matrix of {width} columns expected (dataset.mat has it), "
                             f"found {shape}")
    if len(variables["Xtest"]) != len(variables["Ytest"]):
        raise ValueError(f"{path}: Xtest, Ytest: equally many rows expected, found "
                         f"{len(variables['Xtest'])} and {len(variables['Ytest'])}")
    return np.ascontiguousarray(variables["Xtest"]), np.ascontiguousarray(variables["Ytest"])


def _cell(path, name, variables, n_clips):
    """Entries of a cell, one real matrix for each of `n_clips`."""
    if name not in variables:
        raise ValueError(f"{path}: a variable {name} expected, found none")
    entries = variables[name]
    if isinstance(entries, np.ndarray) and n_clips == 1:
        entries = [entries]
    if not isinstance(entries, list):
        raise ValueError(f"{path}: {name}: a cell of {n_clips} matrices expected, one for each transcript, "
                         f"found one matrix, which does not say where clips begin")
    if len(entries) != n_clips or n_clips == 0:
        raise ValueError(f"{path}: {name}: a cell of {n_clips} clips expected, one for each transcript, "
                         f"found {len(entries)}")
    raise_faults(path, [f"{name}, clip {i}: a matrix of real numbers with at least one row expected, found "
                  f"{getattr(entry, 'shape', type(entry).__name__)}" for i, entry in enumerate(entries)
                  if not isinstance(entry, np.ndarray) or entry.ndim != 2 or entry.dtype.kind not in "iufb"
                  or 0 in entry.shape])
    return entries
