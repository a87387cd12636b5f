"""Tables on a page of the book, all of one look."""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ordering._extras import needs

with needs("widgets", __name__):
    from IPython.display import HTML

# What a reader sees for the names that tables of results use; others lose their underscores.
HEADINGS = {
    "iod": "IoD", "iou": "IoU", "iod_val": "IoD on Val", "iod_free": "IoD, no order", "std": "standard deviation",
    "accuracy_free": "accuracy, no order", "bg share": "background", "background_share": "background", "k0": "κ₀",
    "fraction": "labelled", "oracle_calls_a_clip": "oracle calls a clip", "times_faster": "times faster",
    "peak_over_features": "peak memory / features", "peak_MB": "peak memory, MB", "start_seconds": "start, s",
    "end_seconds": "end, s", "uniform": "even split", "ncut": "NCUT", "hard-em": "hard EM",
    "at-least-one": "at least one", "ours-extra-loss": "ours, extra loss", "supervised": "supervised ridge",
    "supervised-bias": "supervised, bias",
}  # fmt: skip


def show(rows: Iterable[Sequence[Any]] | Any, header: Sequence[str] | None = None, caption: str = "",
         digits: int | Mapping[str, int] = 3, units: Mapping[str, str] | None = None) -> HTML:
    """Rows as a table; the first entry of each is its title.

    Parameters
    ----------
    rows : iterable of sequences, or DataFrame
        Entries are shown as ``str`` has them, floats rounded, NaN as a dash. Of a DataFrame the index gives the
        titles.
    header : sequence of str, optional
        Needed unless ``rows`` is a DataFrame. Names of ``HEADINGS`` are written out.
    caption : str
        What the numbers are; stands above the table.
    digits : int or dict of str to int
        Decimals of floats, for all columns or by the name of a column (others have three).
    units : dict of str to str, optional
        Units by the name of a column; they stand in its heading.

    Returns
    -------
    IPython.display.HTML
        "0.68 ± 0.02" does not break. The page makes tables of eight rows or more sortable.

    Examples
    --------
    >>> print(show([["even split", 0.5]], ["", "IoU"]).data)
    <table class="table"><thead><tr><th scope="col"></th><th scope="col">IoU</th></tr></thead>
    <tbody><tr><th scope="row">even split</th><td>0.500</td></tr></tbody></table>
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"iou": [0.5], "seconds": [2.25]}, index=pd.Index(["ncut"], name="method"))
    >>> table = show(frame, digits={"seconds": 1}, units={"seconds": "s"}).data
    >>> re.findall("<t[hd](?: [^>]*)?>([^<]*)", table)
    ['method', 'IoU', 'seconds, s', 'NCUT', '0.500', '2.2']
    """
    if header is None:
        frame: Any = rows
        frame = frame.reset_index() if any(frame.index.names) else frame.reset_index(names="")
        header, rows = [str(name) for name in frame.columns], frame.itertuples(index=False)
    places = [digits if isinstance(digits, int) else digits.get(name, 3) for name in header]
    titles = [heading(name) + (f", {units[name]}" if units and name in units else "") for name in header]
    head = "".join(f'<th scope="col">{_text(title, 3)}</th>' for title in titles)
    lines = ""
    for row in rows:
        first, *cells = (_text(value, n) for value, n in zip(row, places, strict=True))
        first = HEADINGS.get(first, first)
        lines += f'<tr><th scope="row">{first}</th>' + "".join(f"<td>{cell}</td>" for cell in cells) + "</tr>"
    above = f"<caption>{_text(caption, 3)}</caption>" if caption else ""
    return HTML(f'<table class="table">{above}<thead><tr>{head}</tr></thead>\n<tbody>{lines}</tbody></table>')


def heading(name: str) -> str:
    """The name of a column as a reader sees it.

    Examples
    --------
    >>> heading("iod_val"), heading("inner_steps"), heading("clip")
    ('IoD on Val', 'inner steps', 'clip')
    """
    return HEADINGS.get(name, name.replace("_", " "))


def unbroken(text: str) -> str:
    """The text with spaces around "±" and in front of "%" that do not break.

    Examples
    --------
    >>> unbroken("0.68 ± 0.02")
    '0.68\\xa0±\\xa00.02'
    """
    return re.sub(r" ?± ?", "\xa0±\xa0", text).replace(" %", "\xa0%")


def _text(value: Any, digits: int) -> str:
    if isinstance(value, float):
        return "–" if value != value else f"{value:.{digits}f}"
    return html.escape(unbroken(str(value)))
