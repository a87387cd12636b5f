"""Clips from a table that has a row for each interval."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ordering.clips import Clips, label_runs
from ordering.datasets._reading import normal, raise_faults, some


def from_table(table: Any, clip: str = "clip", action: str | None = None, features: Sequence[str] | None = None,
               lists: Any = None, background_name: str | None = "background", background: str | None = "optional",
               action_names: Sequence[str] | None = None) -> Clips:
    """Clips from a pandas table (or a dict of columns) that has a row for each interval.

    Parameters
    ----------
    table : pandas.DataFrame, or dict of equally long columns
        Rows of a clip follow one another, in the order of time.
    clip : str
        Column with the name of the clip.
    action : str, optional
        Column with the name of what happens in each interval; empty (None, NaN, "") throughout a clip whose labels
        are not known.
    features : list of str, optional
        Columns of numbers; by default all others.
    lists : pandas.DataFrame, or dict, optional
        The ordered actions of every clip: a table with the columns `clip` and `action` (or "action", where `action`
        is not given), a row an action; or a dict from the clip's name to a sequence of names. By default what the
        labels show.
    background_name : str or None
        The name that means background in labels and lists. None: there is no background.
    background : {"optional", "around", "between"}
        Where background states are inserted, see `Clips`.
    action_names : list of str, optional
        Names in the order of their classes; by default those that occur, sorted.

    Returns
    -------
    Clips
        float64 features. Row i of the table is interval i, so ``table["found"] = model.labels_`` fits.

    Raises
    ------
    ValueError
        One error that lists the faults of the table.

    Examples
    --------
    >>> table = {"clip": ["a", "a", "a", "b", "b"], "speed": [0.1, 2.0, 2.1, 1.9, 0.0],
    ...          "what": ["background", "walk", "walk", "walk", "background"]}
    >>> clips = from_table(table, action="what", features=["speed"])
    >>> clips.labels.tolist(), clips.clip_names, clips.action_names
    ([1, 0, 0, 0, 1], ['a', 'b'], ['walk'])
    >>> from_table(table, features=["speed"], lists={"a": ["walk"], "b": ["walk"]}).labels is None
    True
    """
    features = [name for name in table if name not in (clip, action)] if features is None else list(features)
    missing = [name for name in [clip, *features, *([] if action is None else [action])] if name not in table]
    raise_faults("table", [f"a column {name!r} expected, found {some(list(table))}" for name in missing])
    faults = [f"column {name!r}: {len(table[clip])} rows expected, found {len(table[name])}"
              for name in features if len(table[name]) != len(table[clip])]
    faults += ["features: at least one column expected, found none"] * (not features)
    X = [_numbers(table[name], name, faults) for name in features]
    names, lengths = _clips_of(_texts(table[clip]), faults)
    raise_faults("table", faults)
    shown = [None] * len(names) if action is None else _labels_of(_texts(table[action]), names, lengths, faults)
    given = [None] * len(names) if lists is None else _lists_of(lists, clip, action or "action", names, faults)
    parts = [part for part in [*shown, *given] if part is not None]
    known = {name for part in parts for name in part} - {background_name}
    actions = sorted(known) if action_names is None else [normal(str(name)) for name in action_names]
    if known - set(actions):
        faults.append(f"action_names: all that occur expected, found none of {some(sorted(known - set(actions)))}")
    faults += [f"clip {i} ({name}): labels or a list expected, found neither"
               for i, name in enumerate(names) if shown[i] is None and given[i] is None]
    raise_faults("table", faults)
    numbers = {name: a for a, name in enumerate(actions)} | {background_name: len(actions)}
    labels = [None if part is None else np.array([numbers[name] for name in part]) for part in shown]
    lists = [label_runs(found) if part is None  # type: ignore[arg-type]
             else np.array([numbers[name] for name in part], dtype=np.int64)
             for found, part in zip(labels, given, strict=True)]
    if background_name is not None:
        lists = [part[part != len(actions)] for part in lists]
    return Clips.from_list(np.split(np.column_stack(X), np.cumsum(lengths)[:-1]), lists, len(actions),
                           None if background_name is None else background,
                           None if all(part is None for part in labels) else labels, actions, names)


def _texts(column):
    """Names of a column, "" for None, NaN and the like; numbers as whole numbers are written."""
    return ["" if not isinstance(value, str) and str(value) in ("None", "nan", "NaT", "<NA>")
            else str(int(value)) if isinstance(value, (float, np.floating)) and value % 1 == 0
            else normal(str(value)).strip() for value in np.asarray(column, dtype=object).tolist()]


def _numbers(column, name, faults):
    try:
        values = np.asarray(column)
        if values.ndim != 1 or values.dtype.kind in "cmM":
            raise ValueError(f"{values.dtype} of shape {values.shape}")
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        faults.append(f"column {name!r}: numbers expected, found {error}")
        return None


def _clips_of(column, faults):
    """Names of the clips and their numbers of rows."""
    starts = [i for i, name in enumerate(column) if i == 0 or name != column[i - 1]]
    names = [column[i] for i in starts]
    seen: set[str] = set()
    for name, start in zip(names, starts, strict=True):
        if not name:
            faults.append(f"row {start}: the name of a clip expected, found none")
        elif name in seen:
            faults.append(f"row {start}: all rows of clip {name!r} one after the other expected, found it again")
        seen.add(name)
    return names, np.diff([*starts, len(column)])


def _labels_of(column, names, lengths, faults):
    """Names (T,) of every clip, None where all are empty."""
    labels = []
    for i, (name, end) in enumerate(zip(names, np.cumsum(lengths).tolist(), strict=True)):
        part = column[end - int(lengths[i]):end]
        if any(part) and not all(part):
            faults.append(f"clip {i} ({name}): a label in every row or in none expected, found none in its row "
                          f"{part.index('')}")
        labels.append([label for label in part if label] if any(part) else None)
    return labels


def _lists_of(lists, clip, action, names, faults):
    """Names of the actions of every clip, in order; None for a clip that is not among them."""
    if clip in lists and action in lists:  # a table, not a dict of sequences
        found: dict[str, list[str]] = {}
        for name, entry in zip(_texts(lists[clip]), _texts(lists[action]), strict=True):
            found.setdefault(name, []).append(entry)
    else:
        faults += [f"lists, clip {name!r}: a sequence of names expected, found {lists[name]!r}" for name in lists
                   if isinstance(lists[name], str)]
        found = {normal(str(name)): _texts(list(lists[name])) for name in lists}
    faults += [f"lists: clips of the table expected, found {name!r}" for name in found if name not in names]
    faults += [f"lists, clip {name!r}: a name expected, found ''"
               for name, entries in found.items() if "" in entries]
    return [found.get(name) for name in names]
