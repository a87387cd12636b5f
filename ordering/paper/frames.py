"""Figures that move on a page without a kernel: frames drawn in advance, a slider and a Play button."""

from __future__ import annotations

import base64
import html
import io
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ordering._extras import needs

with needs("plots", __name__):
    import matplotlib.pyplot as plt
    from matplotlib.figure import Figure

with needs("widgets", __name__):
    import ipywidgets
    from PIL import Image

FRAME_MILLISECONDS = 400
RECORDED = "ORDERING_RECORDED"  # set in the environment where pages are made: nobody is there to move a slider


def show(draw: Callable[[Any], Figure], values: Iterable[Any], description: str = "",
         labels: Sequence[str] | None = None, alt: Callable[[Any], str] | None = None, play: bool = True,
         start: int = 0, dpi: int = 100) -> ipywidgets.VBox:
    """Draw one frame per value and return a slider that shows them, in Jupyter and on a built page.

    Every frame is kept as an image in the notebook; slider, Play button and frames are linked in the browser,
    so no kernel is needed to move them.

    Parameters
    ----------
    draw : callable
        ``draw(value)`` returns a matplotlib figure; it is closed afterwards. All figures have one size.
    values : iterable
        One value a frame.
    description : str
        What the slider changes; stands before it, and may hold a formula between dollar signs.
    labels : sequence of str, optional
        Text beside the slider, one a frame. By default the values themselves.
    alt : callable, optional
        ``alt(value)`` says in words what the frame shows, for readers who do not see it.
        By default description and label.
    play : bool
        Whether there is a Play button.
    start : int
        Index of the frame shown first.
    dpi : int
        Dots per inch of the images.

    Returns
    -------
    ipywidgets.VBox
        Controls above the frames.

    Raises
    ------
    ValueError
        If there are no values, if their number and that of the labels differ, if ``start`` is not the index
        of a frame, or if the figures differ in size.

    Notes
    -----
    The bytes of a frame depend on the figure only: no date, no version, 256 colours at most.
    Used in every chapter of the book with a moving figure, first in book/01-order-as-a-label.ipynb.

    Examples
    --------
    >>> def draw(width):
    ...     figure, ax = plt.subplots(figsize=(3, 1))
    ...     ax.barh(["true", "found"], [3, width])
    ...     return figure
    >>> box = show(draw, [1, 2, 3], description="width", alt=lambda width: f"True 3 wide, found {width}.")
    >>> len(box.children[1].children)
    3
    """
    values = list(values)
    if labels is None:
        labels = [f"{value:g}" if isinstance(value, float) else str(value) for value in values]
    if not values:
        raise ValueError("values: at least one expected, found none")
    if len(labels) != len(values):
        raise ValueError(f"labels: {len(values)} expected, one for each value, found {len(labels)}")
    if not 0 <= start < len(values):
        raise ValueError(f"start: the index of one of {len(values)} frames expected, found {start}")
    images, sizes = zip(*(_png(draw(value), dpi) for value in values), strict=True)
    for index, size in enumerate(sizes):
        if size != sizes[0]:
            raise ValueError(f"frame {index}: {sizes[0]} pixels as in frame 0 expected, found {size}")
    default = [f"{description} {label}".strip() for label in labels]
    alts = [alt(value) for value in values] if alt else default
    picture = _stack(
        [_image(png, sizes[0], dpi, text) for png, text in zip(images, alts, strict=True)], start
    )
    readout = _stack([html.escape(str(label)) for label in labels], start)
    return ipywidgets.VBox([_controls(description, start, len(values), play, picture, readout), picture])


def live(draw: Callable[..., Figure], **controls: Any) -> ipywidgets.VBox | None:
    """Controls above a figure that is drawn anew with every change: what `show` records, with a kernel.

    Parameters
    ----------
    draw : callable
        ``draw(**values)`` returns a matplotlib figure; it is closed afterwards.
    **controls
        One for each argument of ``draw``, as ``ipywidgets.interact`` takes them: a triple (least, greatest,
        step) is a slider, a list a menu, a text a field.

    Returns
    -------
    ipywidgets.VBox or None
        None where pages are made: without a kernel the controls would do nothing. A ``ValueError`` of ``draw``
        is shown in place of the figure.

    Examples
    --------
    >>> panel = live(lambda width: plt.figure(figsize=(width, 1)), width=(1, 5))
    >>> panel.children[0].value = 4
    """
    if os.environ.get(RECORDED):
        return None
    shown = {name: ipywidgets.interactive.widget_from_abbrev(control, None) for name, control in controls.items()}
    picture = ipywidgets.HTML()

    def follow(_=None):
        values = {name: control.value for name, control in shown.items()}
        try:
            png, size = _png(draw(**values), 100)
            picture.value = _image(png, size, 100, ", ".join(f"{k} {v}" for k, v in values.items()))
        except ValueError as error:
            picture.value = f"<pre>{html.escape(str(error))}</pre>"

    for name, control in shown.items():
        control.description = name
        control.observe(follow, "value")
    follow()
    return ipywidgets.VBox([*shown.values(), picture])


def _stack(texts, start):
    """One HTML child a frame, of which one is shown."""
    return ipywidgets.Stack([ipywidgets.HTML(text) for text in texts], selected_index=start)


def _controls(description, start, n_frames, play, picture, readout):
    """Play button, slider and readout in a row, linked to the two stacks in the browser."""
    limits = {"value": start, "min": 0, "max": n_frames - 1}
    style = {"description_width": "initial"}
    slider = ipywidgets.IntSlider(**limits, description=description, readout=False, style=style)
    for stack in (picture, readout):
        ipywidgets.jslink((slider, "value"), (stack, "selected_index"))
    controls = [slider, readout]
    if play:
        player = ipywidgets.Play(**limits, interval=FRAME_MILLISECONDS)
        ipywidgets.jslink((player, "value"), (slider, "value"))
        controls.insert(0, player)
    return ipywidgets.HBox(controls, layout={"flex_flow": "row wrap", "align_items": "center"})


def _png(figure, dpi):
    """Bytes and size in pixels of a figure as a PNG of at most 256 colours; the figure is closed."""
    with io.BytesIO() as drawn, io.BytesIO() as small:
        figure.savefig(drawn, format="png", dpi=dpi, facecolor="white", metadata={"Software": None})
        plt.close(figure)
        image = Image.open(drawn).convert("RGB").quantize(256, dither=Image.Dither.NONE)
        image.save(small, format="png", optimize=True)
        return small.getvalue(), image.size


def _image(png, size, dpi, alt):
    """An image element that carries its own bytes, at the size a static figure of 100 dpi has on the page."""
    data = base64.b64encode(png).decode()
    width = round(size[0] * 100 / dpi)
    return (
        f'<img alt="{html.escape(alt)}" width="{width}" style="max-width: 100%; height: auto" '
        f'src="data:image/png;base64,{data}">'
    )
