"""Clips: features, lengths and transcripts of a data set, validated once and for all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ordering._check import is_integer
from ordering._files import whole_file
from ordering._runs import runs
from ordering._stored import require_regular, stored_arrays

BACKGROUNDS = ("around", "between", "optional", None)
MAX_FAULTS = 20
LARGEST = {np.dtype(np.float32): 1e15, np.dtype(np.float64): 1e140}  # sums of squares stay finite
_BLOCK = 8192


@dataclass(frozen=True)
class Clip:
    """One clip of a `Clips`: views of its rows, its transcript and its name."""

    features: np.ndarray
    transcript: np.ndarray
    labels: np.ndarray | None
    name: str


class Clips:
    """A set of clips, each a sequence of intervals with an ordered list of actions.

    Parameters
    ----------
    features : (N, d) array, np.memmap or SciPy CSR matrix
        Descriptors of the intervals of all clips, one clip after the other. float32 and float64 are kept
        as they are and never copied; other numbers become float64.
    lengths : (n,) ints
        Number of intervals of every clip; they sum to N.
    transcripts : n sequences of ints in [0, n_actions)
        The ordered actions of every clip, background left out.
    n_actions : int
        Number A of actions. Class A is the background unless `background` is None.
    background : {"around", "between", "optional", None}
        Where background states are inserted: before, between and after the K actions (2K + 1 states, the
        released code), between them only (2K - 1 states, the paper's text), as "around" but each of them may
        be left out (actions may touch), or nowhere (K states).
    labels : (N,) ints, optional
        True classes. The action runs of a clip must be its transcript. A clip without labels among labelled ones
        has -1 throughout.
    action_names, clip_names : sequences of str, optional

    Attributes
    ----------
    features, lengths, transcripts, n_actions, background, labels, action_names, clip_names
        The arguments; `transcripts` as a list of int arrays.
    n_classes : int
        C = A + 1 with background, A without.
    background_class : int or None
    offsets : (n + 1,) ints
        Clip i holds the rows ``offsets[i]:offsets[i + 1]``.

    Raises
    ------
    ValueError
        One error that lists every fault of every clip (after 20 a count).

    Notes
    -----
    Section 2.1 of the paper. It puts background only between actions; the authors' code also puts it first
    and last. A clip needs at least as many intervals as it has states that cannot be left out. Explained in
    ``book/01-order-as-a-label.ipynb`` and ``book/02-staircases.ipynb``.

    Examples
    --------
    >>> import numpy as np
    >>> clips = Clips(np.zeros((9, 2)), lengths=[5, 4], transcripts=[[0, 1], [1]], n_actions=2)
    >>> len(clips), clips.n_classes, clips.states(0).tolist()
    (2, 3, [2, 0, 2, 1, 2])
    """

    def __init__(self, features: Any, lengths: ArrayLike, transcripts: Sequence, n_actions: int,
                 background: str | None = "around", labels: ArrayLike | None = None,
                 action_names: Sequence[str] | None = None, clip_names: Sequence[str] | None = None) -> None:
        self._fill(features, lengths, transcripts, n_actions, background, labels, action_names, clip_names, [])

    def _fill(self, features, lengths, transcripts, n_actions, background, labels, action_names, clip_names,
              faults):
        """Set and validate everything; `faults` holds what was found before."""
        if background not in BACKGROUNDS:
            raise ValueError(f"background must be one of {BACKGROUNDS}, found {background!r}")
        if not is_integer(n_actions) or n_actions < 1:
            raise ValueError(f"n_actions must be a positive integer, found {n_actions!r}")
        self.n_actions = int(n_actions)
        self.background = background
        self.background_class = None if background is None else self.n_actions
        self.n_classes = self.n_actions + (background is not None)
        self.features = as_features(features)
        self.action_names = None if action_names is None else [str(name) for name in action_names]
        self.clip_names = None if clip_names is None else [str(name) for name in clip_names]
        self.lengths: Any = _as_ints(lengths, "lengths", faults)
        self.transcripts: Any = [None if t is None else _as_ints(t, f"{self._name(i)}: transcript", faults)
                            for i, t in enumerate(_as_sequence(transcripts, "transcripts"))]
        self.labels = None if labels is None else _as_ints(labels, "labels", faults)
        faults += self._faults()
        if faults:
            raise ValueError(fault_message(faults))
        self._index()

    @classmethod
    def from_list(cls, features: Sequence, transcripts: Sequence, n_actions: int | None = None,
                  background: str | None = "around", labels: Sequence | None = None,
                  action_names: Sequence[str] | None = None, clip_names: Sequence[str] | None = None) -> Clips:
        """Build `Clips` from one (T_i, d) array per clip.

        Parameters
        ----------
        features : list of (T_i, d) arrays or CSR matrices
        transcripts : list of sequences of ints, or of action names if `action_names` is given
        n_actions : int, optional
            Defaults to ``len(action_names)``.
        labels : list of (T_i,) arrays (None for a clip without labels) or one (N,) array, optional
        background, action_names, clip_names
            As in `Clips`.

        Examples
        --------
        >>> import numpy as np
        >>> clips = Clips.from_list([np.zeros((4, 2)), np.ones((3, 2))], [["sit"], ["walk"]],
        ...                         action_names=["walk", "sit"])
        >>> [t.tolist() for t in clips.transcripts]
        [[1], [0]]
        """
        features = [_checked_csr(f) if sp.issparse(f) else np.asarray(f) for f in features]
        if not features:
            raise ValueError("features: at least one clip expected, found an empty list")
        if n_actions is None:
            if action_names is None:
                raise ValueError("n_actions: a number expected where action_names is not given")
            n_actions = len(action_names)
        self, faults = object.__new__(cls), []
        self.clip_names = None if clip_names is None else [str(name) for name in clip_names]
        width = features[0].shape[1] if features[0].ndim == 2 else "d"
        faults += [f"{self._name(i)}: features of shape (T, {width}) expected, found {f.shape}"
                   for i, f in enumerate(features) if f.ndim != 2 or f.shape[1] != width]
        transcripts = self._numbered(transcripts, action_names, faults)
        if labels is not None and len(labels) == len(features) \
                and all(part is None or np.ndim(part) == 1 for part in labels):
            parts = [np.full(f.shape[0], -1) if part is None else np.asarray(part)
                     for f, part in zip(features, labels, strict=True)]
            faults += [f"{self._name(i)}: {f.shape[0]} labels expected, found {len(part)}"
                       for i, (f, part) in enumerate(zip(features, parts, strict=True))
                       if len(part) != f.shape[0]]
            labels = np.concatenate(parts)  # type: ignore[assignment]
        if any(f.ndim != 2 or f.shape[1] != width for f in features):
            raise ValueError(fault_message(faults))
        stack = sp.vstack(features, format="csr") if sp.issparse(features[0]) else np.concatenate(features)
        self._fill(stack, [f.shape[0] for f in features], transcripts, n_actions, background, labels,
                   action_names, clip_names, faults)
        return self

    @property
    def n_intervals(self) -> int:
        """Number N of intervals of all clips."""
        return int(self.features.shape[0])

    def with_features(self, features: Any) -> Clips:
        """The same clips described by other features (N, d'), after the same checks.

        Examples
        --------
        >>> import numpy as np
        >>> clips = Clips(np.zeros((9, 2)), lengths=[5, 4], transcripts=[[0, 1], [1]], n_actions=2)
        >>> clips.with_features(np.ones((9, 3)))
        Clips(2 clips, 9 intervals, 3 features, 2 actions, background='around')
        """
        return Clips(features, self.lengths, self.transcripts, self.n_actions, self.background, self.labels,
                     self.action_names, self.clip_names)

    def mask(self, clips: ArrayLike) -> np.ndarray:
        """Which rows (N,) belong to the clips of an index array or a boolean mask.

        Examples
        --------
        >>> import numpy as np
        >>> Clips(np.zeros((5, 1)), [2, 3], [[0], [0]], n_actions=1, background=None).mask([1]).tolist()
        [False, False, True, True, True]
        """
        inside = np.zeros(len(self), dtype=bool)
        inside[self._subset_index(clips)] = True
        return inside.repeat(self.lengths)

    def save(self, path: str | Path) -> None:
        """Write everything to one file (npz), whole or not at all; dense features that are mostly zero become CSR.

        Examples
        --------
        >>> import tempfile
        >>> import numpy as np
        >>> clips = Clips(np.ones((4, 2)), [4], [[0]], n_actions=1, clip_names=["a"])
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     clips.save(f"{folder}/clips.npz")
        ...     Clips.load(f"{folder}/clips.npz").clip_names
        ['a']
        """
        X = self.features
        if sp.issparse(X) or np.count_nonzero(X) < 0.2 * X.size:
            X = sp.csr_matrix(X)
            stored = {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)}
        else:
            stored = {"features": X}
        stored |= {"lengths": self.lengths, "n_actions": np.array(self.n_actions),
                   "background": np.array(str(self.background)),
                   "transcripts": np.concatenate([np.empty(0, np.int64), *self.transcripts]),
                   "transcript_lengths": np.array([len(t) for t in self.transcripts], dtype=np.int64)}
        optional = {"labels": self.labels, "action_names": self.action_names, "clip_names": self.clip_names}
        stored |= {name: np.array(values) for name, values in optional.items() if values is not None}
        with whole_file(path, "wb") as file:
            np.savez(file, **stored)

    @classmethod
    def load(cls, path: str | Path) -> Clips:
        """Read what `save` wrote."""
        require_regular(path)
        try:
            parts = stored_arrays(path)
            X = parts["features"] if "features" in parts else sp.csr_matrix(
                (parts["data"], parts["indices"], parts["indptr"]), tuple(parts["shape"]))
            lengths = parts["transcript_lengths"].tolist()
            if min(lengths, default=0) < 0 or sum(lengths) != len(parts["transcripts"]):
                raise ValueError(f"transcripts of {len(parts['transcripts'])} actions, their lengths {lengths[:20]}")
            transcripts = np.split(parts["transcripts"], np.cumsum(lengths)[:-1])
            background = str(parts["background"])
            names = {name: parts[name].tolist() for name in ("action_names", "clip_names") if name in parts}
            return cls(X, parts["lengths"], transcripts, parts["n_actions"].item(),
                       None if background == "None" else background, parts.get("labels"), **names)
        except (ValueError, KeyError, TypeError, OverflowError) as error:
            raise ValueError(f"{path}: a file of Clips.save expected, found {error}") from None

    def __len__(self) -> int:
        return len(self.lengths)

    def __getitem__(self, i: Any) -> Any:
        if isinstance(i, slice):
            return self.subset(np.arange(len(self))[i])
        i = self._position(i)
        rows = self.rows(i)
        return Clip(self.features[rows], self.transcripts[i],
                    None if self.labels is None else self.labels[rows],
                    f"clip {i}" if self.clip_names is None else self.clip_names[i])

    def __iter__(self) -> Iterator[Clip]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return (f"Clips({len(self)} clips, {self.n_intervals} intervals, "
                f"{self.features.shape[1]} features, {self.n_actions} actions, "
                f"background={self.background!r}{'' if self.labels is None else ', labelled'})")

    def rows(self, i: int) -> slice:
        """Slice of the rows of clip i."""
        i = self._position(i)
        return slice(int(self.offsets[i]), int(self.offsets[i + 1]))

    def states(self, i: int) -> np.ndarray:
        """Classes (S,) that clip i goes through, in order, background inserted."""
        i = self._position(i)
        return self.flat_states[self.state_offsets[i]:self.state_offsets[i + 1]]

    def subset(self, clips: ArrayLike) -> Clips:
        """Return the clips of an index array or a boolean mask, in that order.

        Consecutive clips share the features' memory; other choices copy the rows they need.
        """
        index = self._subset_index(clips)
        picked = object.__new__(Clips)
        picked.__dict__.update(self.__dict__)
        if len(index) and np.all(np.diff(index) == 1):
            rows: Any = slice(int(self.offsets[index[0]]), int(self.offsets[index[-1] + 1]))
        else:
            rows = np.concatenate([np.arange(self.offsets[i], self.offsets[i + 1]) for i in index]
                                  or [np.empty(0, np.int64)])
        picked.features = self.features[rows]
        picked.labels = None if self.labels is None else self.labels[rows]
        picked.lengths = self.lengths[index]
        picked.transcripts = [self.transcripts[i] for i in index]
        picked.clip_names = None if self.clip_names is None else [self.clip_names[i] for i in index]
        picked._index()
        return picked

    # ---------------------------------------------------------------- private
    def _numbered(self, transcripts, action_names, faults):
        """Transcripts with every action name replaced by its number; None where a name is unknown."""
        numbers = {} if action_names is None else {str(name): a for a, name in enumerate(action_names)}
        numbered = []
        for i, transcript in enumerate(_as_sequence(transcripts, "transcripts")):
            actions = _as_sequence(transcript, f"{self._name(i)}: transcript")
            unknown = [str(a) for a in actions if isinstance(a, str) and a not in numbers]
            if unknown:
                faults.append(f"{self._name(i)}: names in action_names {sorted(numbers)} expected, found {unknown}")
            numbered.append(None if unknown else [numbers[a] if isinstance(a, str) else a for a in actions])
        return numbered

    def _position(self, i):
        if not is_integer(i) or not -len(self) <= i < len(self):
            raise IndexError(f"clip {i!r} does not exist; there are {len(self)} clips")
        return int(i) % len(self)

    def _subset_index(self, clips):
        clips = np.asarray(clips)
        if clips.dtype == bool:
            if clips.shape != (len(self),):
                raise ValueError(f"mask of shape {(len(self),)} expected, found {clips.shape}")
            return np.flatnonzero(clips)
        if clips.size == 0:
            return np.empty(0, np.int64)
        if clips.ndim != 1 or clips.dtype.kind not in "iu":
            raise ValueError(f"a 1-D array of ints or a mask expected, found {clips.dtype} {clips.shape}")
        if clips.min() < -len(self) or clips.max() >= len(self):
            raise ValueError(f"clip numbers in [0, {len(self)}) expected, found {clips.min()}..{clips.max()}")
        return clips.astype(np.int64) % len(self)

    def place(self, row: int) -> str:
        """Which clip and which of its rows a row of all is, for messages."""
        i = int(np.searchsorted(self.offsets, row, side="right")) - 1
        return f"{self._name(i)}, its row {row - self.offsets[i]}"

    def _name(self, i):
        if self.clip_names is not None and i < len(self.clip_names):
            return f"clip {i} ({self.clip_names[i]})"
        return f"clip {i}"

    def _index(self):
        self.offsets = np.concatenate([[0], np.cumsum(self.lengths)]).astype(np.int64)
        states = [with_background(t, self.n_actions, self.background) for t in self.transcripts]
        self.flat_states = np.concatenate(states or [np.empty(0, np.int64)]).astype(np.int64)
        self.flat_states.flags.writeable = False
        self.state_offsets = np.concatenate([[0], np.cumsum([len(s) for s in states])]).astype(np.int64)

    def _faults(self):
        """All faults of all clips, as sentences."""
        faults, N = list(self._fault_of_counts()), self.features.shape[0]
        lengths = self.lengths if self.lengths is not None else np.full(len(self.transcripts), -1)
        for i, transcript in enumerate(self.transcripts):
            if transcript is not None:
                known = self.lengths is not None and i < len(lengths)
                faults += self._faults_of_transcript(i, transcript, lengths[i] if known else None)
        self.offsets = np.concatenate([[0], np.cumsum(lengths)])
        fits = lengths.min(initial=0) >= 0 and lengths.max(initial=0) <= N and lengths.sum() == N
        faults += self._faults_of_features(fits)
        if self.labels is not None and len(self.labels) == N and fits:
            for i, transcript in enumerate(self.transcripts[:len(lengths)]):
                labels = self.labels[self.offsets[i]:self.offsets[i + 1]]
                faults += self._faults_of_labels(i, transcript, labels)
        return faults

    def _fault_of_counts(self):
        n, N = len(self.transcripts), self.features.shape[0]
        if self.lengths is not None:
            n = len(self.lengths)
            if n == 0:
                yield "lengths: at least one clip expected, found none"
            if len(self.transcripts) != n:
                yield f"transcripts: {n} expected, one per length, found {len(self.transcripts)}"
            total = sum(self.lengths.tolist())  # of Python: large lengths do not wrap around
            if total != N:
                yield f"lengths: a sum of {N} expected, the number of feature rows, found {total}"
        if self.labels is not None and len(self.labels) != N:
            yield f"labels: {N} expected, one per feature row, found {len(self.labels)}"
        for names, size, what in [(self.action_names, self.n_actions, "action_names"),
                                  (self.clip_names, n, "clip_names")]:
            if names is not None and len(names) != size:
                yield f"{what}: {size} expected, found {len(names)}"
        if self.action_names is not None and len(set(self.action_names)) < len(self.action_names):
            twice = sorted({a for a in self.action_names if self.action_names.count(a) > 1})
            yield f"action_names: different names expected, found {twice} more than once"

    def _faults_of_transcript(self, i, transcript, length):
        name = self._name(i)
        if length is not None and length < 1:
            yield f"{name}: a length of at least 1 interval expected, found {length}"
        wrong = transcript[(transcript < 0) | (transcript >= self.n_actions)]
        if len(wrong):
            yield f"{name}: actions in [0, {self.n_actions}) expected, found {wrong.tolist()}"
        if len(transcript) == 0 and self.background is None:
            yield f"{name}: a transcript of at least one action expected with background=None, found none"
        S = len(with_background(transcript, self.n_actions, self.background))
        least = max(len(transcript), 1) if self.background == "optional" else S
        if length is not None and 1 <= length < least:
            yield (f"{name}: T >= {least} intervals expected, one for each of the S = {least} states that K = "
                   f"{len(transcript)} actions need with background={self.background!r}, found T = {length}"
                   + self._advice(len(transcript), length))

    def _advice(self, K, length):
        if self.background == "around" and length >= max(2 * K - 1, 1):
            return '; background="between", "optional" or None would fit'
        if self.background in ("around", "between") and length >= K:
            return '; background="optional" or None would fit'
        return ""

    def _faults_of_features(self, fits):
        if self.features.shape[1] == 0:
            yield f"features: at least one column expected, found shape {self.features.shape}"
        offsets = self.offsets if fits else np.array([0, self.features.shape[0]])
        for row, column, value, count in bad_values(self.features, offsets):
            i = int(np.searchsorted(offsets, row, side="right")) - 1
            where = f"its row {row - offsets[i]} (row {row} of all)" if fits else f"row {row}"
            more = f" and {count - 1} more times" if count > 1 else ""
            yield (f"{self._name(i) if fits else 'features'}: finite features expected, found {value} in {where}, "
                   f"column {column}{more}")

    def _faults_of_labels(self, i, transcript, labels):
        name = self._name(i)
        if np.all(labels == -1):
            return
        wrong = np.unique(labels[(labels < 0) | (labels >= self.n_classes)])
        if len(wrong):
            yield f"{name}: labels in [0, {self.n_classes}) expected, found {wrong.tolist()}"
        if len(wrong) or transcript is None:
            return
        actions = label_runs(labels)
        actions = actions[actions != self.n_actions]
        values, counts = compress(actions)
        expected, most = compress(transcript)
        if not np.array_equal(values, expected) or np.any(counts > most):
            yield f"{name}: action runs {transcript.tolist()} expected, its transcript, found {actions.tolist()}"


def with_background(transcript: ArrayLike, n_actions: int, background: str | None) -> np.ndarray:
    """States (S,) of a transcript once background is inserted.

    Examples
    --------
    >>> with_background([3, 1], n_actions=5, background="between").tolist()
    [3, 5, 1]
    """
    transcript = np.asarray(transcript, dtype=np.int64)
    if background is None:
        return transcript
    if len(transcript) == 0:
        return np.array([n_actions])
    states = np.full(2 * len(transcript) + 1, n_actions)
    states[1::2] = transcript
    return states[1:-1] if background == "between" else states


def label_runs(labels: ArrayLike) -> np.ndarray:
    """Classes of the maximal runs of equal labels, in order.

    Examples
    --------
    >>> label_runs([2, 2, 0, 0, 0, 2]).tolist()
    [2, 0, 2]
    """
    return compress(labels)[0]


def bad_values(features: Any, offsets: ArrayLike) -> list[tuple[int, int, float, int]]:
    """For each clip with NaN, infinite or too large features: row, column and value of the first, and their number.

    Too large is what overflows in a sum of squares: above 1e15 in float32, above 1e140 in float64.
    """
    limit = LARGEST[features.dtype]
    found: dict[int, tuple[int, int, float, int]] = {}
    for start in range(0, features.shape[0], _BLOCK):
        block = features[start:start + _BLOCK]
        values = (block.data if sp.issparse(block) else block).ravel(order="K")
        if values.size == 0 or np.vdot(values, values) < limit**2:  # one read; NaN is not less
            continue
        if sp.issparse(block):
            block = block.tocoo()
            rows, columns, values = block.row, block.col, block.data
        else:
            rows, columns = np.nonzero(~(np.abs(block) <= limit))
            values = block[rows, columns]
        bad = np.flatnonzero(~(np.abs(values) <= limit))
        clips, firsts, counts = np.unique(np.searchsorted(offsets, start + rows[bad], side="right"),
                                          return_index=True, return_counts=True)
        for clip, i, count in zip(clips.tolist(), bad[firsts].tolist(), counts.tolist(), strict=True):
            first = found.get(clip, (start + int(rows[i]), int(columns[i]), float(values[i]), 0))
            found[clip] = (*first[:3], first[3] + count)
    return list(found.values())


def as_features(features: Any) -> Any:
    """`features` as a 2-D float32 or float64 array or CSR matrix, unchanged where they are one already."""
    if sp.issparse(features):
        features = _checked_csr(features)
    elif not isinstance(features, np.ndarray):
        features = np.asarray(features)
    if features.ndim != 2:
        raise ValueError(f"features of shape (N, d) expected, found shape {features.shape}")
    if features.dtype.kind not in "fiub":
        raise ValueError(f"features of real numbers expected, found dtype {features.dtype}")
    if features.dtype not in (np.float32, np.float64):
        features = features.astype(np.float64)
    return features


def _checked_csr(matrix):
    """A sparse matrix as CSR, its indices checked before SciPy uses them."""
    try:
        if hasattr(matrix, "check_format"):  # rows, columns or blocks compressed
            matrix.check_format(full_check=True)
        elif matrix.format == "coo" and any(np.any((index < 0) | (index >= size))
                                            for index, size in zip(matrix.coords, matrix.shape, strict=True)):
            raise ValueError(f"indices outside of shape {matrix.shape}")
    except ValueError as error:
        raise ValueError(f"features: a valid CSR matrix expected, found {error}") from None
    return matrix.tocsr()


def _as_sequence(values, what):
    try:
        return list(values)
    except TypeError:
        raise ValueError(f"{what}: a sequence expected, found {values!r}") from None


def _as_ints(values, what, faults):
    """`values` as a 1-D array of int64; a fault and None where they are something else."""
    try:
        array = np.asarray(values)
    except ValueError:
        array = np.empty((0, 0))
    if array.ndim == 1 and array.size == 0:
        return np.empty(0, np.int64)
    if array.ndim != 1 or array.dtype.kind not in "iu":
        faults.append(f"{what}: a 1-D sequence of ints expected, found {array.dtype} of shape {array.shape}")
        return None
    if array.max() > np.iinfo(np.int64).max:
        faults.append(f"{what}: ints below 2**63 expected, found {array.max()}")
        return None
    return array.astype(np.int64)


def compress(values: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Values of the runs of equal neighbours, and how long each run is."""
    values = np.asarray(values)
    start, stop = runs(values)
    return values[start], stop - start


def fault_message(faults: list[str]) -> str:
    """All faults in one message, a line each; after 20 a count."""
    shown = faults[:MAX_FAULTS]
    rest = len(faults) - len(shown)
    count = f"{len(faults)} faults" if len(faults) > 1 else "1 fault"
    return "\n".join([f"{count} in the clips:"] + [f"- {fault}" for fault in shown]
                     + ([f"- and {rest} more"] if rest else []))
