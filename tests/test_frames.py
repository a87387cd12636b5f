"""Moving figures: what is inside the widget that `frames.show` returns."""

import base64
import re

import ipywidgets
import matplotlib.pyplot as plt
import numpy as np
import pytest
from PIL import Image

from ordering.paper import frames


def draw(n):
    figure, ax = plt.subplots(figsize=(3, 2))
    ax.plot(np.arange(n))
    return figure


def parts(box):
    """Controls by type, the stack of frames and that of the labels."""
    row, picture = box.children
    by_type = {type(child): child for child in row.children}
    return by_type, picture, by_type[ipywidgets.Stack]


def image(html):
    data = re.search(r'src="data:image/png;base64,([^"]+)"', html).group(1)
    return base64.b64decode(data)


def test_frames_labels_and_alt_texts():
    before = plt.get_fignums()
    box = frames.show(draw, [2, 3, 4], "points", ["two", "three", "<four>"], lambda n: f'a line of "{n}"', start=1)
    controls, picture, readout = parts(box)
    assert len({image(child.value) for child in picture.children}) == 3
    assert ['alt="a line of &quot;3&quot;"' in child.value for child in picture.children] == [False, True, False]
    assert [child.value for child in readout.children] == ["two", "three", "&lt;four&gt;"]
    slider = controls[ipywidgets.IntSlider]
    assert (slider.min, slider.max, slider.value, slider.description) == (0, 2, 1, "points")
    assert picture.selected_index == readout.selected_index == 1
    assert plt.get_fignums() == before


@pytest.mark.parametrize("play", [True, False])
def test_links_live_in_the_browser(monkeypatch, play):
    """The slider moves frames and labels, Play moves the slider, all without a kernel."""
    linked = []
    monkeypatch.setattr(ipywidgets, "jslink", lambda source, target: linked.append((source, target)))
    controls, picture, readout = parts(frames.show(draw, [2, 3], play=play))
    slider = controls[ipywidgets.IntSlider]
    expected = [((slider, "value"), (stack, "selected_index")) for stack in (picture, readout)]
    if play:
        expected.append(((controls[ipywidgets.Play], "value"), (slider, "value")))
    assert linked == expected
    assert (ipywidgets.Play in controls) == play


def test_same_figure_same_bytes_without_date_or_program(tmp_path):
    first, second = (frames.show(draw, [2, 3]).children[1].children[0].value for _ in range(2))
    assert first == second
    path = tmp_path / "frame.png"
    path.write_bytes(image(first))
    with Image.open(path) as picture:
        assert picture.info.keys() <= {"dpi"}
        assert picture.mode == "P" and picture.size == (300, 200)
        assert picture.convert("RGB").getpixel((0, 0)) == (255, 255, 255)


def test_defaults_say_which_frame():
    _, picture, readout = parts(frames.show(draw, range(2, 4), "points"))
    assert [child.value for child in readout.children] == ["2", "3"]
    assert 'alt="points 3"' in picture.children[1].value


def test_width_on_the_page_does_not_depend_on_the_resolution():
    for dpi in (50, 200):
        assert 'width="300"' in frames.show(draw, [2], dpi=dpi).children[1].children[0].value


@pytest.mark.parametrize(
    "values, options, message",
    [
        ([], {}, "values: at least one expected, found none"),
        ([2, 3], {"labels": ["a"]}, "labels: 2 expected.*found 1"),
        ([2, 3], {"start": 2}, "start: the index of one of 2 frames expected, found 2"),
    ],
)
def test_errors(values, options, message):
    with pytest.raises(ValueError, match=message):
        frames.show(draw, values, **options)


def test_figures_of_different_size_are_refused():
    before = plt.get_fignums()
    with pytest.raises(
        ValueError, match=r"frame 1: \(200, 100\) pixels as in frame 0 expected, found \(300, 100\)"
    ):
        frames.show(lambda width: plt.figure(figsize=(width, 1)), [2, 3])
    assert plt.get_fignums() == before


def test_a_live_figure_follows_its_controls(monkeypatch):
    before = plt.get_fignums()
    slider, picture = frames.live(draw, n=(2, 6)).children
    first = picture.value
    slider.value = 6
    assert image(picture.value) != image(first) and 'alt="n 6"' in picture.value
    assert image(picture.value) == image(frames.show(draw, [6]).children[1].children[0].value)
    assert plt.get_fignums() == before
    monkeypatch.setenv(frames.RECORDED, "1")  # where pages are made
    assert frames.live(draw, n=(2, 6)) is None
