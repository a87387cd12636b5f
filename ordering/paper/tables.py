"""Tables on a page of the book, all of one look."""

from __future__ import annotations

import html
from collections.abc import Iterable, Sequence
from typing import Any

from ordering._extras import needs

with needs("widgets", __name__):
    from IPython.display import HTML


def show(rows: Iterable[Sequence[Any]], header: Sequence[str], caption: str = "") -> HTML:
    """Rows as a table; the first entry of each is its title.

    Parameters
    ----------
    rows : iterable of sequences
        Entries are shown as ``str`` has them, floats with three decimals, NaN as a dash.
    header : sequence of str
    caption : str
        What the numbers are; stands above the table.

    Returns
    -------
    IPython.display.HTML

    Examples
    --------
    >>> print(show([["even split", 0.5]], ["", "IoU"]).data)
    <table class="table"><thead><tr><th scope="col"></th><th scope="col">IoU</th></tr></thead>
    <tbody><tr><th scope="row">even split</th><td>0.500</td></tr></tbody></table>
    """
    head = "".join(f'<th scope="col">{_text(title)}</th>' for title in header)
    lines = "".join(f'<tr><th scope="row">{_text(first)}</th>' + "".join(f"<td>{_text(cell)}</td>" for cell in cells)
                    + "</tr>" for first, *cells in rows)
    above = f"<caption>{_text(caption)}</caption>" if caption else ""
    return HTML(f'<table class="table">{above}<thead><tr>{head}</tr></thead>\n<tbody>{lines}</tbody></table>')


def _text(value):
    if isinstance(value, float):
        return "–" if value != value else f"{value:.3f}"
    return html.escape(str(value))
