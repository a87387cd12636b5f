"""What the figures show: blocks, names, values and colours, read back from the axes."""

from types import SimpleNamespace

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from matplotlib.colors import to_rgb
from matplotlib.patches import Rectangle

from ordering import plots


@pytest.fixture(autouse=True)
def _style():
    with matplotlib.rc_context():
        plots.use_style()
        yield
    plt.close("all")


def blocks(ax):
    """(left, width, colour) of every rectangle with an area."""
    patches = [p for p in ax.patches if isinstance(p, Rectangle)]
    return [(p.get_x(), p.get_width(), tuple(p.get_facecolor()[:3])) for p in patches]


def test_style_is_opaque_and_repeatable(tmp_path):
    fig, _ = plt.subplots()
    assert fig.get_facecolor() == (1, 1, 1, 1)
    files = [tmp_path / "a.svg", tmp_path / "b.svg"]
    for file in files:
        ax = plots.staircase([0, 1, 1], 2)
        ax.figure.savefig(file, metadata={"Date": None})
    assert files[0].read_bytes() == files[1].read_bytes()


def test_colors_are_distinct_and_background_is_grey():
    colors = plots.action_colors(17, background_class=16)
    assert len(set(colors)) == 17
    assert colors[16] == to_rgb(plots.BACKGROUND_COLOR)
    assert all(0 <= v <= 1 for color in colors for v in color)
    assert plots.action_colors(3)[:2] == plots.action_colors(5)[:2]


def test_timeline_draws_one_block_per_run_in_the_right_place():
    ax = plots.timeline({"a": [0, 0, 2, 1, 1], "b": [2, 0, 0, 0, 1]}, 5, ["walk", "sit", "none"], 2)
    colors = plots.action_colors(3, 2)
    assert blocks(ax) == [
        (0.5, 2, colors[0]), (2.5, 1, colors[2]), (3.5, 2, colors[1]),
        (0.5, 1, colors[2]), (1.5, 3, colors[0]), (4.5, 1, colors[1]),
    ]  # fmt: skip
    assert [t.get_text() for t in ax.get_yticklabels()] == ["a", "b"]
    assert "none" not in [t.get_text() for t in ax.texts]
    assert ax.get_legend() is None
    assert ax.get_xlabel() == "interval" and ax.get_xlim() == (0.5, 5.5)


def test_timeline_breaks_runs_at_clip_borders_and_marks_them():
    clips = SimpleNamespace(lengths=np.array([2, 3]))
    ax = plots.timeline({"a": [0, 0, 0, 0, 1]}, clips)
    assert [(left, width) for left, width, _ in blocks(ax)] == [(0.5, 2), (2.5, 2), (4.5, 1)]
    assert [line.get_xdata()[0] for line in ax.lines] == [2.5]
    assert [t.get_text() for t in ax.texts] == ["1", "1", "2"]


def test_timeline_in_seconds():
    ax = plots.timeline({"a": [0, 0, 1, 1]}, 4, ["x", "y"], seconds_per_interval=0.5)
    assert [(left, width) for left, width, _ in blocks(ax)] == [(0, 1), (1, 1)]
    assert ax.get_xlabel() == "time (s)"
    assert ax.get_xlim() == (0, 2)


def test_timeline_puts_names_without_room_into_a_legend():
    labels = np.repeat([0, 1, 0], [100, 1, 100])
    ax = plots.timeline({"a": labels}, len(labels), ["walk", "a very long action name"])
    assert [t.get_text() for t in ax.texts] == ["walk", "walk"]
    assert [t.get_text() for t in ax.get_legend().get_texts()] == ["a very long action name"]


def test_names_in_blocks_stay_inside_them():
    names = ["jumping jack", "knee raise", "toe touch"]
    labels = np.repeat([0, 1, 2, 0], [21, 22, 9, 30])
    ax = plots.timeline({"a long title of a strip": labels}, len(labels), names)
    ax.figure.canvas.draw()
    patches = [p for p in ax.patches if isinstance(p, Rectangle)]
    for text in ax.texts:
        extent = text.get_window_extent()
        assert any(
            p.get_window_extent().x0 <= extent.x0 and extent.x1 <= p.get_window_extent().x1 for p in patches
        ), text.get_text()


def test_timeline_refuses_a_strip_of_the_wrong_length():
    with pytest.raises(ValueError, match="'model': 5 labels expected, found shape \\(4,\\)"):
        plots.timeline({"truth": [0] * 5, "model": [0] * 4}, 5)


@pytest.mark.parametrize("color, ink", [("white", "black"), ("#332288", "white"), ("#DDCC77", "black")])
def test_ink_can_be_read(color, ink):
    assert plots._ink(color) == ink


def test_assignment_shows_time_to_the_right_and_classes_upwards():
    Z = np.array([[1, 0], [0.5, 0.5], [0, 1]])
    ax = plots.assignment(Z, names=["walk", "sit"])
    np.testing.assert_array_equal(ax.images[0].get_array(), Z.T)
    assert ax.images[0].get_clim() == (0, 1)
    assert ax.images[0].origin == "lower"
    assert [t.get_text() for t in ax.get_yticklabels()] == ["walk", "sit"]


def solution(gap):
    passes = np.arange(len(gap))
    return SimpleNamespace(objective=1.0 - passes, duality_gap=gap, seconds=passes / 4)


def test_convergence_draws_all_runs_and_skips_missing_gaps():
    axes = plots.convergence({"batch": solution([0.3, 0.2, 0.1]), "block": solution([0.3, np.nan, 0.0])})
    assert [list(line.get_xdata()) for line in axes[0].lines] == [[1, 2, 3], [1, 2, 3]]
    assert [list(line.get_ydata()) for line in axes[1].lines] == [[0.3, 0.2, 0.1], [0.3]]
    assert axes[1].get_yscale() == "log"
    assert [t.get_text() for t in axes[1].get_legend().get_texts()] == ["batch", "block"]


def test_convergence_against_seconds():
    axes = plots.convergence({"batch": solution([0.3, 0.2])}, against="seconds")
    assert list(axes[0].lines[0].get_xdata()) == [0, 0.25]
    with pytest.raises(ValueError, match="passes"):
        plots.convergence({}, against="hours")


def test_staircase_cells_and_line():
    ax = plots.staircase([0, 0, 1, 2], 3, colors=["red", "green", "blue"])
    assert [(p.get_x(), p.get_y()) for p in ax.patches] == [(0.5, 0.5), (1.5, 0.5), (2.5, 1.5), (3.5, 2.5)]
    assert [p.get_facecolor()[:3] for p in ax.patches] == [to_rgb(c) for c in ("red", "red", "green", "blue")]
    assert list(ax.lines[0].get_ydata()) == [1, 1, 2, 3, 3]


def test_staircase_over_costs_leaves_infinite_cells_empty():
    cost = np.array([[1.0, np.inf], [2.0, 3.0]])
    ax = plots.staircase([0, 1], 2, cost=cost)
    shown = ax.images[0].get_array()
    assert shown.shape == (2, 2) and shown.mask.tolist() == [[False, False], [True, False]]
    assert len(ax.patches) == 0


def test_score_curves_show_mean_and_spread_of_the_splits():
    rows = [("supervised", f, s, f + 0.1 * s) for f in (0.1, 0.5, 1.0) for s in (0, 1)]
    rows += [(m, f, s, 0.5) for m, f in [("ours", 0.0), ("ours", 1.0), ("ncut", 0.0)] for s in (0, 1)]
    table = pd.DataFrame(rows, columns=["method", "fraction", "split", "iod"])
    ax = plots.score_curves(table, ["supervised", "ours", "ncut"])
    supervised, ours = (bars.lines[0] for bars in ax.containers)  # NCUT is a level line
    np.testing.assert_allclose(supervised.get_xydata(), [(0.1, 0.15), (0.5, 0.55), (1, 1.05)])
    np.testing.assert_allclose(ours.get_xydata(), [(0, 0.5), (1, 0.5)])
    weak = plots.score_curves(table, ["supervised", "ours"], weak=True)
    assert [t.get_text() for t in weak.get_legend().get_texts()] == ["2014", "supervised ridge"]
    assert len(weak.containers) == 1
