"""Sets of admissible assignments: what may be the labels of clips, and the cheapest of them for given costs.

`Ordered` is the paper's set and its relatives: every clip goes through a chain of states. Solvers, rounding and the
estimator take any `AdmissibleSet`; where they are given `Clips` they take ``Ordered(clips)``.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from ordering._check import positive_integer
from ordering.clips import Clips, fault_message
from ordering.kernels import chain
from ordering.kernels.compile import in_threads
from ordering.kernels.nearest import nearest

ROWS_OF_A_PART = 512
INNER_STEPS = 25  # new paths in a pass
FEW_PATHS, MOST_PATHS = 64, 4096  # that a clip remembers: room at first, and at most
INNER_WORK = 3e8  # state-intervals that all steps on one clip may visit; a longer clip gets fewer steps


class AdmissibleSet:
    """What the solvers ask of a set; a set of your own gives `best`, and may leave the rest as it is.

    Parameters
    ----------
    clips : Clips
    supervised : (N,) ints, optional
        Known classes, -1 = unknown. They are fixed in every assignment.

    Attributes
    ----------
    clips : Clips
    known : (N,) ints or None
    shape : (N, C)

    Notes
    -----
    A *part* of the set is some consecutive clips in the columns of the classes that they may have. A set without
    parts of its own is one part in all columns. Explained in ``book/02-staircases.ipynb``.

    Examples
    --------
    Any labels, clip by clip constant:

    >>> from ordering import Clips
    >>> class Constant(AdmissibleSet):
    ...     def best(self, cost):
    ...         return np.concatenate([np.full(len(c), c.sum(axis=0).argmin())
    ...                                for c in np.split(cost, self.clips.offsets[1:-1])])
    >>> clips = Clips(np.zeros((3, 1)), [2, 1], [[0], [1]], n_actions=2, background=None)
    >>> round_assignment([[0, 1], [1, 0], [1, 0]], Constant(clips)).tolist()
    [0, 0, 0]
    """

    def __init__(self, clips: Clips, supervised: ArrayLike | None = None) -> None:
        self.clips, self.known = clips, check_supervised(supervised, clips)
        self.shape = clips.n_intervals, clips.n_classes

    def best(self, cost: np.ndarray) -> np.ndarray:
        """Labels (N,) that minimise the sum of ``cost[t, labels[t]]``; known rows keep their class."""
        raise NotImplementedError(f"{type(self).__name__}: a method best(cost) expected, found none")

    # ------------------------------------------------------------ what a part answers; the whole set is one
    rows = slice(None)

    @property
    def columns(self) -> np.ndarray:
        """Classes of the columns."""
        return np.arange(self.shape[1])

    @property
    def offsets(self) -> np.ndarray:
        """Borders (n + 1,) of the clips."""
        return self.clips.offsets

    def parts(self) -> list:
        """Parts that make up the set, in the order of the rows."""
        return [self]

    def vertex(self, cost: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Columns (N,) of the cheapest assignment, and what each clip (n,) pays besides."""
        return self.best(cost), np.zeros(len(self.offsets) - 1)

    def memory(self) -> Any:
        """What `nearest` remembers of the last time; nothing yet."""
        return None

    def nearest(self, V: np.ndarray, slope: np.ndarray, rows: np.ndarray, widths: np.ndarray, price: np.ndarray,
                tol: float, memory: Any) -> tuple[np.ndarray, np.ndarray, Any]:
        """Minimise <slope, P - V> + 1/2 sum rows_t widths_c (P - V)_tc^2 + price over the hull; P and prices (n,).

        Each clip to a Frank-Wolfe gap of about `tol`. This one serves any set without prices.
        """
        P, gradient, borders = V.copy(), slope.copy(), self.offsets[:-1]
        for _ in range(INNER_STEPS):
            move = one_hot(self.best(gradient), P.shape[1]) - P
            gap = -np.add.reduceat((gradient * move).sum(axis=1), borders)
            curvature = np.add.reduceat((move**2 @ widths) * rows, borders)
            if gap.max() <= tol:
                break
            step = np.clip(gap / np.maximum(curvature, 1e-300), 0, 1).repeat(np.diff(self.offsets))[:, None]
            P, gradient = P + step * move, gradient + step * move * rows[:, None] * widths
        return P, price, memory

    def dearest(self) -> np.ndarray:
        """The most that each clip (n,) can pay besides: the price of a start of which nothing else is known."""
        return np.zeros(len(self.offsets) - 1)

    def repair(self, Z: np.ndarray) -> np.ndarray:
        """A start whose known rows are the truth, after a check that it lies in the hull as far as it can be told."""
        return _clamp(Z, self.known)


class Ordered(AdmissibleSet):
    """Assignments that go through the states of each clip in order.

    Parameters
    ----------
    clips : Clips
        ``clips.background`` says whether background states stand between the actions, and whether they must be
        visited.
    supervised : (N,) ints, optional
        Known classes, -1 = unknown. A fully known clip keeps them, admissible or not; the path through a partly
        known clip goes through its known rows.
    min_duration : int or (A,) ints
        Fewest intervals of a run of each action. Background has no minimum.
    skip_price : float or (A,) floats, optional
        Price of leaving out one occurrence of each action, added to the cost of an assignment (infinite: it may not
        be left out); background that can be left out is free. None: no action may be left out.

    Raises
    ------
    ValueError
        Where a clip is shorter than its path at least is, or no path goes through its known rows; one error names
        all clips.

    Notes
    -----
    Section 2.1 of the paper is the case of no background, or background "between". All cases are one chain of states
    (`ordering.kernels.chain`): an action of at least m intervals is m states of which only the last may last.
    Every way of cutting a clip into states of `Clips.states` counts once. Explained in
    ``book/02-staircases.ipynb`` and ``book/03-dynamic-program.ipynb``.

    Examples
    --------
    >>> clips = Clips(np.zeros((5, 1)), [5], [[0, 1]], n_actions=2, background=None)
    >>> cost = np.array([[0, 1], [1, 0], [1, 0], [1, 0], [1, 0]])
    >>> linear_oracle(cost, Ordered(clips, min_duration=2)).tolist()
    [0, 0, 1, 1, 1]
    >>> linear_oracle(cost, Ordered(clips, skip_price=0.5)).tolist()  # leaving 0 out costs .5, having it nothing
    [0, 1, 1, 1, 1]
    """

    def __init__(self, clips: Clips, supervised: ArrayLike | None = None, min_duration: ArrayLike = 1,
                 skip_price: ArrayLike | None = None) -> None:
        super().__init__(clips, supervised)
        least = _per_action("min_duration", min_duration, clips.n_actions, 1)
        if least.dtype.kind not in "iu":
            raise ValueError(f"min_duration: whole numbers expected, found {min_duration!r}")
        price = _per_action("skip_price", np.inf if skip_price is None else skip_price, clips.n_actions, 0)
        background = clips.n_classes > clips.n_actions
        least = np.append(least, [1] * background).astype(np.int64)
        price = np.append(price, [0.0 if clips.background == "optional" else np.inf] * background)
        self._build(least[clips.flat_states], price[clips.flat_states].astype(np.float64))
        if self.known is not None:
            self.best(np.zeros(self.shape))

    def _build(self, repeats, price):
        """The chain of all clips: every state of `clips.flat_states` repeated, and what it costs to leave it out."""
        clips, states = self.clips, self.clips.flat_states
        n, clip = len(clips), np.repeat(np.arange(len(clips)), np.diff(clips.state_offsets))
        shortest = np.bincount(clip, np.where(np.isinf(price), repeats, 0), n).astype(np.int64)
        shortest = np.maximum(shortest, np.minimum.reduceat(repeats, clips.state_offsets[:-1]))  # not all left out
        known = np.full(self.shape[0], -1) if self.known is None else self.known
        fixed = ~np.logical_or.reduceat(known < 0, clips.offsets[:-1])
        faults = [f"{clips._name(i)}: T >= {shortest[i]} intervals expected, the least that its states "
                  f"{clips.states(int(i)).tolist()} take, found T = {clips.lengths[i]}"
                  for i in np.flatnonzero((shortest > clips.lengths) & ~fixed)]
        if faults:
            raise ValueError(fault_message(faults))
        last = np.cumsum(repeats) - 1
        stay, head = np.zeros((2, repeats.sum()), np.bool_)
        stay[last], head[last - repeats + 1] = True, True
        borders = np.append(0, np.bincount(clip, repeats, n).cumsum()).astype(np.int64)
        self._chains = _Chains(slice(0, self.shape[0]), np.arange(self.shape[1]), clips.offsets,
                               states.repeat(repeats), stay, head, price.repeat(repeats), borders, known, fixed)
        self._state = (np.arange(len(states)) - clips.state_offsets[clip]).repeat(repeats)
        self._parts = None

    def best(self, cost):
        return self._cheapest(cost)[0]

    def _cheapest(self, cost):
        """Labels and states (N,) of the cheapest path, after checks."""
        labels, path, _ = self._chains.path(check_costs(cost, self.clips), self.clips)
        return labels, path

    def sum_paths(self, scores: np.ndarray, only_total: bool = False) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Posterior (N, C) and log-partition (n,) as in `forward_backward`, and visits of each state (S,)."""
        found = in_threads(lambda part: part.posterior(-scores[part.rows][:, part.columns], only_total), self.parts())
        P = np.zeros((0 if only_total else len(scores), self.shape[1]))
        for part, (share, _, _) in zip(self.parts(), found, strict=True):
            P[part.rows if len(P) else slice(0), part.columns] = share
        return P, -np.concatenate([total for _, total, _ in found]), np.concatenate([visits for *_, visits in found])

    def parts(self):
        if self._parts is None:
            self._parts = [self._chains.cut(*ends) for ends in bounds_of_parts(self.clips)]
        return self._parts

    def repair(self, Z):
        """Blocks of partly known clips that do not go through the truth become the closest path that does."""
        clips, known = self.clips, self._chains.known
        clip = np.repeat(np.arange(len(clips)), clips.lengths)
        off = (known >= 0) & ~self._chains.fixed[clip] & (Z[np.arange(len(Z)), known] < 1)
        moved = np.isin(clip, clip[off])
        if moved.any():
            Z[moved] = one_hot(self.best(-2 * Z), self.shape[1])[moved]
        Z = _clamp(Z, self.known)
        self._check_classes(Z)
        for part in self.parts():
            self._check_hull(part, np.ascontiguousarray(Z[part.rows][:, part.columns]))
        return Z

    def _check_classes(self, Z):
        """Raise where a start has mass on a class that its clip does not go through."""
        clips = self.clips
        own = np.zeros((len(clips), self.shape[1]), dtype=bool)
        own[np.repeat(np.arange(len(clips)), np.diff(clips.state_offsets)), clips.flat_states] = True
        for i in range(len(clips)):
            outside = Z[clips.rows(i)] * ~own[i] > 1e-6
            if not self._chains.fixed[i] and outside.any():
                row, column = np.argwhere(outside)[0]
                raise ValueError(f"{clips._name(i)}, its row {row}: a start in the hull of the admissible assignments "
                                 f"expected (random_vertices gives one), found {Z[clips.offsets[i] + row, column]:.3g} "
                                 f"on class {column}, which is not among the clip's states {clips.states(i).tolist()}")

    def _check_hull(self, part, Z):
        """Raise where the distance to the hull is above 0 for certain."""
        V = one_hot(part.vertex(-Z)[0], Z.shape[1])
        ones, prices = (np.ones(len(Z)), np.ones(Z.shape[1])), np.zeros(len(part.offsets) - 1)
        free = part._replace(skip=np.where(np.isinf(part.skip), np.inf, 0.0))
        P, _, _, gaps = free.project(V, V - Z, *ones, prices, 1e-9, free.memory(), 30)
        bound = np.add.reduceat(((P - Z) ** 2).sum(axis=1), part.offsets[:-1]) - 2 * gaps
        for i in np.flatnonzero((bound > 1e-9) & ~part.fixed):
            worst = part.offsets[i] + int(np.abs(P - Z).max(axis=1)[part.offsets[i]:part.offsets[i + 1]].argmax())
            raise ValueError(f"{self.clips.place(part.rows.start + worst)}: a start in the hull of the admissible "
                             f"assignments expected (random_vertices gives one), found its clip at a distance of "
                             f"{np.sqrt(bound[i]):.3g} or more")


class _Chains(NamedTuple):
    """Consecutive clips with their chains, in the columns of the classes that they may have."""

    rows: slice
    columns: np.ndarray  # (c,) classes
    offsets: np.ndarray  # (n + 1,) borders of the clips, from 0
    states: np.ndarray  # columns of all states of all chains
    stay: np.ndarray
    head: np.ndarray
    skip: np.ndarray
    borders: np.ndarray  # (n + 1,) borders of the chains
    known: np.ndarray  # (rows,) columns, -1 = unknown
    fixed: np.ndarray  # (n,) whether all rows of a clip are known

    def cut(self, first, last):
        """The clips from first up to last, in columns of their own."""
        rows, chain_ = slice(*self.offsets[[first, last]]), slice(*self.borders[[first, last]])
        states, known = self.states[chain_], self.known[rows]
        columns = np.flatnonzero(np.bincount(np.append(states, known[known >= 0])))
        return _Chains(rows, columns, self.offsets[first:last + 1] - rows.start, np.searchsorted(columns, states),
                       self.stay[chain_], self.head[chain_], self.skip[chain_],
                       self.borders[first:last + 1] - chain_.start,
                       np.where(known >= 0, np.searchsorted(columns, known), -1), self.fixed[first:last])

    def path(self, cost, clips=None):
        """Columns and states (rows,) of the cheapest path of every clip, and what it pays (n,)."""
        labels, path = np.empty((2, len(cost)), np.int64)
        price = np.zeros(len(self.fixed))
        fault = -1
        if len(price):
            fault = chain.cheapest(cost, self.offsets, self.states, self.stay, self.head, self.skip, self.borders,
                                   self.known, self.fixed, labels, path, price)
        if fault >= 0:
            raise ValueError(f"{clips._name(fault)}: an admissible assignment through its known labels expected, "
                             f"found none for the states {clips.states(fault).tolist()}")
        return labels, path, price

    def dearest(self):
        paid = np.where(self.head & np.isfinite(self.skip), self.skip, 0.0)
        return np.where(self.fixed, 0.0, np.add.reduceat(paid, self.borders[:-1]))

    def vertex(self, cost):
        labels, _, price = self.path(cost)
        return labels, price

    def posterior(self, cost, only_total=False):
        """Shares (rows, c) of the weight exp(-cost) of all paths, minus the logarithm of its sum (n,), and the share of
        paths that visit each state."""
        P = np.zeros((0 if only_total else len(cost), cost.shape[1]))
        total, visits = np.empty(len(self.fixed)), np.zeros(len(self.states))
        chain.posterior(np.ascontiguousarray(cost), self.offsets, self.states, self.stay, self.head, self.skip,
                        self.borders, self.known, self.fixed, P, total, visits)
        return P / P.sum(axis=1, keepdims=True), total, visits

    def memory(self):
        """Paths of each clip and their weights and prices, and how many there are: none yet, and no room."""
        nothing = np.empty((len(self.fixed), 0))
        return np.empty((0, len(self.known)), np.uint16), nothing, nothing, np.zeros(len(self.fixed), np.int64)

    def _room(self, memory):
        """Room for more paths, where the clips have used up half of what there is."""
        paths, weights, prices, sizes = memory
        room = len(paths)
        if sizes.max(initial=0) <= room // 2 and room or room == MOST_PATHS:
            return paths, weights, prices, sizes
        more = min(max(2 * room, FEW_PATHS), MOST_PATHS) - room
        return (np.vstack([paths, np.empty((more, paths.shape[1]), np.uint16)]),
                *(np.hstack([part, np.empty((len(part), more))]) for part in (weights, prices)), sizes)

    def nearest(self, V, slope, rows, widths, price, tol, memory):
        return self.project(V, slope, rows, widths, price, tol, memory, INNER_STEPS)[:3]

    def project(self, V, slope, rows, widths, price, tol, memory, n_steps):
        """`AdmissibleSet.nearest` by the compiled method, and the gap of every clip."""
        P, price, gaps = V.copy(), price.copy(), np.zeros(len(self.fixed))
        memory = self._room(memory)
        nearest(P, slope, rows, widths, price, memory, self.offsets, self.states, self.stay, self.head, self.skip,
                self.borders, self.known, self.fixed, tol, n_steps, INNER_WORK, gaps)
        return P, price, memory, gaps


def bounds_of_parts(clips: Clips) -> list[tuple[int, int]]:
    """First and last clip (not included) of parts of about 512 intervals."""
    wanted = np.arange(ROWS_OF_A_PART, clips.n_intervals, ROWS_OF_A_PART)
    ends = np.unique(np.append(np.searchsorted(clips.offsets, wanted), [0, len(clips)])).tolist()
    return list(zip(ends[:-1], ends[1:], strict=True))


# ------------------------------------------------------------------------------- functions of costs and scores
def as_set(clips: Clips | AdmissibleSet, supervised: ArrayLike | None = None) -> Any:
    """The set itself, or the ordered one of `Clips`; known rows belong to the set."""
    if isinstance(clips, AdmissibleSet):
        if supervised is not None:
            raise ValueError("supervised: known rows in the set expected where a set is given, found them beside it")
        return clips
    return Ordered(clips, supervised)


def _as_ordered(clips):
    ordered = as_set(clips)
    if not isinstance(ordered, Ordered):
        raise ValueError(f"clips: Clips or an Ordered set expected, found {type(ordered).__name__}")
    return ordered


def check_costs(cost: ArrayLike, clips: Clips) -> np.ndarray:
    """Costs (N, C) of clips as finite C-ordered float64, no copy where they are; so small that sums do not overflow."""
    given, shape = np.asarray(cost), (clips.n_intervals, clips.n_classes)
    if given.shape != shape:
        raise ValueError(f"cost of shape {shape} expected, one row an interval and one column a class, "
                         f"found {given.shape}")
    if given.dtype.kind not in "fiub":
        raise ValueError(f"real costs expected, found dtype {given.dtype}")
    cost = np.require(given, np.float64, ["C", "W"])  # kernels would be compiled once more for read-only ones
    largest = max(-cost.min(initial=0), cost.max(initial=0))
    if not largest < np.inf:
        row, column = np.argwhere(~np.isfinite(cost))[0]
        raise ValueError(f"{clips.place(row)} (row {row} of all): finite costs expected, found "
                         f"{cost[row, column]} in column {column}")
    if largest > 1e300 / (len(cost) + 1):
        cost = np.ldexp(cost, -int(len(cost)).bit_length() - 4)  # changes no comparison
    return cost  # type: ignore[return-value]


def linear_oracle(cost: ArrayLike, clips: Clips | AdmissibleSet) -> np.ndarray:
    """Labels that minimise the sum of ``cost[t, labels[t]]`` over the admissible assignments of every clip.

    Parameters
    ----------
    cost : (N, C) real array
        Any dtype and memory layout; it is not changed.
    clips : Clips or AdmissibleSet

    Returns
    -------
    labels : (N,) int64 classes

    Raises
    ------
    ValueError
        If `cost` has a wrong shape, or is NaN or infinite somewhere.

    Notes
    -----
    Section 3.2 of the paper: P_t(k) = D_tk + min(P_{t-1}(k), P_{t-1}(k-1)) over the states k of a clip, in
    O(T S) operations. Ties: on the way back from the end, the predecessor of state k is k - 1 unless staying
    in k is strictly cheaper. Explained in ``book/03-dynamic-program.ipynb``.

    Examples
    --------
    >>> clips = Clips(np.zeros((2, 1)), [2], [[0, 1]], n_actions=2, background=None)
    >>> linear_oracle([[0, 9], [9, 0]], clips).tolist()
    [0, 1]
    """
    return as_set(clips).best(np.asarray(cost))


def state_path(cost: ArrayLike, clips: Clips | Ordered) -> np.ndarray:
    """Index (N,) of the state inside its clip, on the path that `linear_oracle` finds; -1 in fully known clips.

    ``labels[t] = clips.states(i)[state_path[t]]`` for the rows t of clip i. Two equal neighbours in a
    transcript without background between them are one run in the labels; the states tell them apart.

    Examples
    --------
    >>> clips = Clips(np.zeros((5, 1)), [5], [[0]], n_actions=1)
    >>> state_path(np.zeros((5, 2)), clips).tolist()
    [0, 0, 0, 1, 2]
    """
    ordered = _as_ordered(clips)
    path = ordered._cheapest(cost)[1]
    first = ordered._chains.borders[:-1].repeat(ordered.clips.lengths)
    return np.where(path < 0, -1, ordered._state[np.maximum(path, 0) + first])


def _times(factor, values):
    """The product in float64; what is no real number stays as it is, for the oracle to refuse."""
    values = np.asarray(values)
    return factor * values.astype(np.float64) if values.dtype.kind in "fiub" else values


def round_assignment(Z: ArrayLike, clips: Clips | AdmissibleSet) -> np.ndarray:
    """Labels (N,) of the admissible assignment closest to Z (N, C) in Frobenius norm: the oracle on -2 Z.

    Section 3.3 of the paper. Explained in ``book/08-rounding.ipynb``.

    Examples
    --------
    >>> clips = Clips(np.zeros((3, 1)), [3], [[0, 1]], n_actions=2, background=None)
    >>> round_assignment([[1, 0], [0.8, 0.2], [0, 1]], clips).tolist()
    [0, 0, 1]
    """
    return linear_oracle(_times(-2.0, Z), clips)


def round_scores(scores: ArrayLike, clips: Clips | AdmissibleSet) -> np.ndarray:
    """Labels (N,) of the admissible assignment with the largest sum of scores (N, C): the oracle on -scores.

    The second rounding of the released code, with the classifier's scores X W + b in place of Z.

    Examples
    --------
    >>> clips = Clips(np.zeros((3, 1)), [3], [[0, 1]], n_actions=2, background=None)
    >>> round_scores([[0, 5], [3, 1], [0, 0]], clips).tolist()
    [0, 0, 1]
    """
    return linear_oracle(_times(-1.0, scores), clips)


def forward_backward(scores: ArrayLike, clips: Clips | Ordered) -> tuple[np.ndarray, np.ndarray]:
    """Posterior of every interval's class when each path weighs exp(sum of its scores).

    Parameters
    ----------
    scores : (N, C) real array
        Logarithms of weights.
    clips : Clips or Ordered
        A skip price p takes exp(-p) of the weight of paths that leave an action out.

    Returns
    -------
    posterior : (N, C) rows that sum to 1
    log_partition : (n,) logarithm of the sum of all weights of each clip

    Notes
    -----
    The dynamic program with sums in place of minima, in logarithms, forward and backward (Rabiner 1989). Explained in
    ``book/17-beyond-the-paper.ipynb``.

    Examples
    --------
    >>> clips = Clips(np.zeros((3, 1)), [3], [[0, 1]], n_actions=2, background=None)
    >>> posterior, total = forward_backward(np.zeros((3, 2)), clips)  # two paths
    >>> posterior[1].round(3).tolist(), float(np.exp(total[0]).round(3))
    ([0.5, 0.5], 2.0)
    """
    ordered = _as_ordered(clips)
    P, total, _ = ordered.sum_paths(check_costs(scores, ordered.clips))
    return P, total


def random_vertices(clips: Clips | AdmissibleSet, n: int = 2, random_state: int = 0) -> np.ndarray:
    """Mean (N, C) of n vertices, each the oracle's answer to standard normal costs.

    The released code starts from the mean of two.

    Examples
    --------
    >>> clips = Clips(np.zeros((4, 1)), [4], [[0]], n_actions=1)
    >>> random_vertices(clips).sum(axis=1).tolist()
    [1.0, 1.0, 1.0, 1.0]
    """
    chosen = as_set(clips)
    return dense(chosen, random_blocks(chosen, n, random_state))


def random_blocks(chosen: AdmissibleSet, n: int = 2, random_state: Any = 0) -> list[np.ndarray]:
    """`random_vertices` as one block (rows, columns) for each part."""
    positive_integer("n", n)
    rng, parts = np.random.default_rng(random_state), chosen.parts()
    blocks = [np.zeros((part.offsets[-1], len(part.columns))) for part in parts]
    for _ in range(n):
        for part, block in zip(parts, blocks, strict=True):
            cost = rng.standard_normal((len(block), chosen.shape[1]))
            labels, _ = part.vertex(np.ascontiguousarray(cost[:, part.columns]))
            block[np.arange(len(block)), labels] += 1 / n
    return blocks


def dense(chosen: AdmissibleSet, blocks: list[np.ndarray]) -> np.ndarray:
    """Assignment (N, C) from one block for each part."""
    Z = np.zeros(chosen.shape)
    for part, block in zip(chosen.parts(), blocks, strict=True):
        Z[part.rows, part.columns if len(part.columns) < chosen.shape[1] else slice(None)] = block
    return Z


def one_hot(labels: ArrayLike, n_classes: int) -> np.ndarray:
    """Assignment (N, n_classes) of labels (N,).

    Examples
    --------
    >>> one_hot([1, 0], 2).tolist()
    [[0.0, 1.0], [1.0, 0.0]]
    """
    labels = np.asarray(labels)
    Z = np.zeros((len(labels), n_classes))
    Z[np.arange(len(labels)), labels] = 1.0
    return Z


def check_supervised(supervised: ArrayLike | None, clips: Clips) -> np.ndarray | None:
    """Known classes (N,) int64 with -1 = unknown, after checks; None where nothing is known."""
    if supervised is None:
        return None
    known, N = np.asarray(supervised), clips.n_intervals
    if known.shape != (N,) or known.dtype.kind not in "iu":
        raise ValueError(f"supervised: {N} ints expected, found {known.dtype} of shape {known.shape}")
    known = known.astype(np.int64)
    wrong = np.flatnonzero((known < -1) | (known >= clips.n_classes))
    if len(wrong):
        raise ValueError(f"{clips.place(wrong[0])}: known classes in [0, {clips.n_classes}) or -1 expected, "
                         f"found {known[wrong[0]]}")
    return known if (known >= 0).any() else None


def _clamp(Z, known):
    """Z with its known rows overwritten by the truth (in place)."""
    if known is not None:
        rows = known >= 0
        Z[rows] = one_hot(known[rows], Z.shape[1])
    return Z


def _per_action(name, values, n_actions, least):
    """One number >= least for every action."""
    try:
        array = np.broadcast_to(np.asarray(values), n_actions)
    except ValueError:
        array = np.empty((0,), "U1")
    if array.dtype.kind not in "fiu" or not (array >= least).all():
        raise ValueError(f"{name}: one number >= {least}, or {n_actions}, one an action, expected, found {values!r}")
    return array
