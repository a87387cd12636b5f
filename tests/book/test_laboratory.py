"""The laboratory page: its dynamic program and solver against the package, its panels by mouse, touch and keys.

The scripts are tried on a bare page, so that no book is needed; the last tests look at the built page.
"""

import base64
import json
import re

import numpy as np
import pytest

from ordering import Clips, Ordered, RidgeObjective, frank_wolfe, linear_oracle, plots, round_assignment, state_path
from ordering.admissible import one_hot
from tests.brute_force import BACKGROUNDS, list_cuts, random_case

from .conftest import ROOT
from .test_browser import NARROW, WIDE, visit

ASSETS = ROOT / "book" / "_assets"
SCRIPTS = ["chain.js", "single-clip.js", "laboratory.js"]
VARIABLES = """:root { --pst-color-border: #888; --pst-color-text-muted: #555; --pst-color-background: #fff;
  --pst-color-text-base: #222; --pst-color-primary: #0072b2; --pst-color-surface: #eee; --pst-color-danger: #b00; }
  :root[data-theme=dark] { --pst-color-background: #121212; --pst-color-text-base: #eee; --pst-color-text-muted: #aaa; }
  body { background: var(--pst-color-background); color: var(--pst-color-text-base); font-family: sans-serif; }"""


@pytest.fixture(scope="module")
def bare(tmp_path_factory):
    """A page with the two panels and nothing else."""
    path = tmp_path_factory.mktemp("lab") / "page.html"
    scripts = "".join(f'<script src="{(ASSETS / name).as_uri()}"></script>' for name in SCRIPTS)
    path.write_text(f'<!DOCTYPE html><html lang="en" data-theme="light"><meta charset="utf-8"><title>Lab</title>'
                    f'<meta name="viewport" content="width=device-width"><style>{VARIABLES}</style>'
                    f'<link rel="stylesheet" href="{(ASSETS / "laboratory.css").as_uri()}"><main><h1>Lab</h1>'
                    f'<div class="lab" data-lab="draw"></div><div class="lab" data-lab="clip"></div></main>{scripts}',
                    encoding="utf8")
    return path


@pytest.fixture
def lab(browser, bare):
    """The bare page, opened without a network; what goes wrong is kept as ``page.faults``."""
    context = browser.new_context(viewport=WIDE, offline=True, has_touch=True, accept_downloads=True)
    page = context.new_page()
    page.faults = []
    page.on("console", lambda message: page.faults.append(message.text))
    page.on("pageerror", lambda error: page.faults.append(str(error)))
    page.on("request", lambda request: request.url.startswith(("file:", "blob:")) or page.faults.append(request.url))
    page.goto(bare.as_uri())
    page.wait_for_selector("[data-lab=draw][data-state=ready]")
    yield page
    assert page.faults == []
    context.close()


# ------------------------------------------------------------------ the dynamic program
def cases(n, longest, whole, seed=0):
    """Random clips, sets and costs; whole numbers make ties."""
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < n:
        least = int(rng.integers(1, 4))
        price = None if rng.random() < 0.5 else float(rng.integers(0, 8)) / 4
        clips, options = random_case(rng, longest, background=BACKGROUNDS[len(found) % 4],
                                     supervised=None, min_duration=least, skip_price=price)
        shape = clips.n_intervals, clips.n_classes
        cost = rng.integers(0, 4, shape).astype(float) if whole else rng.standard_normal(shape)
        found.append((clips, options, cost))
    return found


def in_the_browser(page, problems, expression):
    """What an expression in `chain` and `cost` gives for each problem."""
    sent = [{"transcript": clips.transcripts[0].tolist(), "bg": clips.n_actions, "least": options["min_duration"],
             "background": clips.background or "none", "price": options["skip_price"], "cost": cost.tolist()}
            for clips, options, cost in problems]
    return page.evaluate("""problems => problems.map(({transcript, bg, background, least, price, cost}) => {
        const chain = Chain.make(transcript, bg, background, least, price ?? Infinity);
        return EXPRESSION; })""".replace("EXPRESSION", expression), sent)


@pytest.mark.parametrize("whole", [True, False], ids=["ties", "no ties"])
@pytest.mark.parametrize("longest", [8, 60])
def test_path_and_price_are_the_packages(lab, whole, longest):
    """300 cases each: labels and states exactly, ties included; the price to 1e-12."""
    problems = cases(300, longest, whole)
    for (clips, options, cost), found in zip(
        problems, in_the_browser(lab, problems, "Chain.cheapest(cost, chain)"), strict=True
    ):
        chosen = Ordered(clips, **options)
        states = state_path(cost, chosen)
        assert found["labels"] == linear_oracle(cost, chosen).tolist()
        assert found["states"] == states.tolist()
        left_out = sum(a < clips.n_actions for k, a in enumerate(clips.states(0)) if k not in states)
        price = left_out * (options["skip_price"] or 0.0)
        assert found["total"] == pytest.approx(cost[np.arange(len(cost)), found["labels"]].sum() + price, abs=1e-12)


@pytest.mark.parametrize("whole", [True, False], ids=["ties", "no ties"])
def test_the_runner_up_is_the_second_cheapest_of_all_labellings(lab, whole):
    """300 cases against enumeration; none where there is one labelling only."""
    problems, without = cases(300, 10, whole, seed=1), 0
    expression = "[Chain.cheapest(cost, chain), Chain.runnerUp(cost, chain, Chain.cheapest(cost, chain).labels)]"
    for (clips, options, cost), (best, second) in zip(
        problems, in_the_browser(lab, problems, expression), strict=True
    ):
        _, labels, paid = list_cuts(clips, **options)
        totals = {}
        for row, price in zip(labels, paid, strict=True):
            total = cost[np.arange(len(row)), row].sum() + price
            totals[tuple(row)] = min(total, totals.get(tuple(row), np.inf))
        assert best["total"] == pytest.approx(min(totals.values()), abs=1e-12)
        del totals[tuple(best["labels"])]
        if not totals:
            assert second is None
            without += 1
            continue
        assert second["total"] == pytest.approx(min(totals.values()), abs=1e-12)
        assert second["total"] == pytest.approx(totals[tuple(second["labels"])], abs=1e-12)
    assert 0 < without < 200


def test_the_least_length_is_the_packages(lab):
    """One interval less is refused by the package, that many are not."""
    rng = np.random.default_rng(2)
    for background in BACKGROUNDS:
        for _ in range(25):
            transcript = rng.integers(0, 3, rng.integers(1, 4)).tolist()
            least, price = int(rng.integers(1, 5)), [None, 1.0][rng.integers(2)]
            chain = [transcript, 3, background or "none", least, price]
            T = lab.evaluate("([t, bg, b, m, p]) => Chain.make(t, bg, b, m, p ?? Infinity).shortest", chain)

            def make(T, transcript=transcript, background=background, least=least, price=price):
                return Ordered(Clips(np.zeros((T, 1)), [T], [transcript], 3, background), None, least, price)

            make(T)
            if T > 1:
                with pytest.raises(ValueError):
                    make(T - 1)


def test_the_program_is_short():
    lines = (ASSETS / "chain.js").read_text(encoding="utf8").splitlines()
    assert sum(bool(line.strip()) and not line.strip().startswith("//") for line in lines) <= 70


# ------------------------------------------------------------------ a single clip
@pytest.mark.parametrize("background", BACKGROUNDS)
@pytest.mark.parametrize("least", [1, 4])
def test_the_solver_is_the_packages(lab, background, least):
    """60 passes: values and gaps to 1e-9 (a gap below 1e-12 is rounding), Z to 1e-10, the same labels."""
    rng = np.random.default_rng(least)
    lam, kappa0 = 1e-2, 1e-3
    truth = np.repeat([3, 0, 3, 1, 3, 2, 3] if background else [0, 1, 2], 5)
    X = rng.standard_normal((4, 6))[truth] + 0.7 * rng.standard_normal((len(truth), 6)) + 5
    clips = Clips(X, [len(X)], [[0, 1, 2]], 3, background)
    options = {"bg": 3, "background": background or "none", "least": least, "lambda": lam, "kappa0": kappa0}
    found = lab.evaluate("""([X, options]) => {
        let last;
        for (const run of SingleClip.solve(X, [0, 1, 2], {...options, passes: 60})) last = run;
        const {start, values, gaps} = last;
        return {start, values, gaps, Z: last.Z.map(z => [...z]), labels: last.round()}; }""", [X.tolist(), options])
    kappa = kappa0 * np.array([-1, -1, -1, 1]) if background else None
    chosen, objective = Ordered(clips, min_duration=least), RidgeObjective(X, lam, kappa)
    theirs = frank_wolfe(objective, chosen, one_hot(found["start"], clips.n_classes), n_iter=60)
    np.testing.assert_allclose(found["values"], theirs.objective, rtol=1e-9)
    np.testing.assert_allclose(found["gaps"], theirs.duality_gap, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found["Z"], theirs.Z, atol=1e-10)
    assert found["labels"] == round_assignment(found["Z"], chosen).tolist()


def test_scaling_is_the_usual_one(lab):
    X = np.random.default_rng(0).normal(7, 3, (20, 3))
    X[:, 1] = 4.25
    ours = np.array(lab.evaluate("X => SingleClip.scaled(X)", X.tolist()))
    varied = X[:, [0, 2]]
    np.testing.assert_allclose(ours[:, [0, 2]], (varied - varied.mean(0)) / varied.std(0), rtol=1e-12)
    assert np.all(ours[:, 1] == 0)


# ------------------------------------------------------------------ first panel
def prices(page):
    return page.locator("[data-lab=draw] tbody tr td:nth-child(2)").all_inner_texts()


def costs(page):
    """The costs that the panel shows as numbers, (T, C)."""
    text = page.evaluate("document.querySelector('[data-lab=draw] details textarea').value")
    return np.array([[float(cell) for cell in line.split(",")] for line in text.split("\n")])


def panel_set(page):
    """The package's set for what the panel's controls say."""
    panel = page.locator("[data-lab=draw]")
    names = [name.strip() for name in panel.get_by_label("Transcript").input_value().split(",")]
    actions = list(dict.fromkeys(names))
    background = panel.locator("select").input_value()
    T, price = int(panel.get_by_label("Intervals").input_value()), panel.get_by_label("Price of leaving").input_value()
    clips = Clips(np.zeros((T, 1)), [T], [[actions.index(name) for name in names]], len(actions),
                  None if background == "none" else background)
    least = int(panel.get_by_label("lasts at least").input_value())
    return Ordered(clips, None, least, float(price) if price else None), [*actions, "background"]


def as_text(labels, names):
    """Where the actions are, without background."""
    borders = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), len(labels)]
    return ", ".join(f"{names[labels[a]]}\u00a0{a + 1}" + (f"–{b}" if b > a + 1 else "")
                     for a, b in zip(borders[:-1], borders[1:], strict=True) if names[labels[a]] != "background")


def check_panel(page):
    """What the panel says is what the package says of the costs in it."""
    chosen, names = panel_set(page)
    cell = page.locator("[data-lab=draw] tbody tr:first-child td:nth-child(4)").inner_text()
    assert cell == as_text(linear_oracle(costs(page), chosen), names)


def test_every_control_is_followed_at_once(lab):
    panel = lab.locator("[data-lab=draw]")
    check_panel(lab)
    seen = {tuple(prices(lab))}
    given = {"Transcript": "sit, walk, sit", "Intervals": "15", "lasts at least": "3", "Price of leaving": "1.5"}
    for label, value in given.items():
        panel.get_by_label(label).fill(value)
        check_panel(lab)
        seen.add(tuple(prices(lab)))
    for background in ("between", "optional", "none", "around"):
        panel.locator("select").select_option(background)
        check_panel(lab)
        seen.add(tuple(prices(lab)))
    panel.get_by_role("button", name="New costs").click()
    check_panel(lab)
    assert len(seen) >= 6
    panel.get_by_role("button", name="All costs equal").click()
    check_panel(lab)
    assert np.ptp(costs(lab)) == 0


def cell_centre(page, t, c):
    """Middle of a cell of the costs, in pixels of the window."""
    page.locator(".lab-grid").scroll_into_view_if_needed()
    box = page.locator(f".lab-grid > rect:nth-of-type({c * len(costs(page)) + t + 1})").bounding_box()
    return box["x"] + box["width"] / 2, box["y"] + box["height"] / 2


def test_costs_are_painted_by_mouse(lab):
    lab.locator("[data-lab=draw]").get_by_label("Brush").fill("9")
    before = costs(lab)
    assert before[:, 3].max() < 9
    start, end = cell_centre(lab, 3, 3), cell_centre(lab, 9, 3)
    lab.mouse.move(*start)
    lab.mouse.down()
    lab.mouse.move(*end)  # one jump: what lies between is painted too
    lab.mouse.up()
    lab.mouse.move(*cell_centre(lab, 15, 3))  # the pointer is up
    after = costs(lab)
    assert np.all(after[3:10, 3] == 9) and np.array_equal(after[:, :3], before[:, :3])
    assert np.array_equal(after[10:], before[10:])
    check_panel(lab)


def test_a_cost_is_set_by_touch(lab):
    lab.locator("[data-lab=draw]").get_by_label("Brush").fill("8")
    lab.touchscreen.tap(*cell_centre(lab, 4, 1))
    assert costs(lab)[4, 1] == 8
    check_panel(lab)


def test_costs_are_set_by_keys(lab):
    lab.locator(".lab-grid").focus()
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "7"):
        lab.keyboard.press(key)
    assert costs(lab)[2, 1] == 7
    assert lab.locator("[data-lab=draw] [role=status]").inner_text().startswith("Interval 3, sit: cost 7.")
    check_panel(lab)


def test_costs_are_set_as_numbers(lab):
    lab.locator("[data-lab=draw] summary").click()
    box = lab.get_by_label("Costs: a line for each interval")
    wanted = np.random.default_rng(0).integers(0, 9, (20, 4)) / 4
    box.fill("\n".join(",".join(map(str, row)) for row in wanted))
    assert np.array_equal(costs(lab), wanted)
    check_panel(lab)
    box.fill("1,2,3,x")
    status = lab.locator("[data-lab=draw] [role=status]")
    assert status.inner_text() == "line 1, column 4: a finite number expected, found “x”"
    box.fill("1,2,3,4")
    assert status.inner_text() == "costs: 20 lines of 4 numbers expected, found 1 of 4"
    box.blur()
    assert np.array_equal(costs(lab), wanted)


def own(page):
    return [int(handle.get_attribute("aria-valuenow")) for handle in page.locator(".lab-handle").all()]


@pytest.mark.parametrize("way", ["mouse", "keys"])
def test_boundaries_are_moved(lab, way):
    """The price of the reader's labelling follows, and is never below the best."""
    before, handle = own(lab), lab.locator(".lab-handle").nth(1)
    if way == "keys":
        handle.focus()
        for _ in range(2):
            lab.keyboard.press("ArrowRight")
    else:
        handle.scroll_into_view_if_needed()
        box = handle.locator("circle").bounding_box()
        unit = lab.locator(".lab-grid > rect").first.bounding_box()["width"]
        lab.mouse.move(box["x"] + 6, box["y"] + 2)
        lab.mouse.down()
        lab.mouse.move(box["x"] + 6 + 2 * unit, box["y"])
        lab.mouse.up()
    after = own(lab)
    assert after == [before[0], before[1] + 2, *before[2:]]
    labels = np.repeat([3, 0, 3, 1, 3, 2, 3], np.diff([0, *after, 20]))
    price = costs(lab)[np.arange(20), labels].sum()
    assert float(prices(lab)[2]) == pytest.approx(price, abs=1e-3) and price >= float(prices(lab)[0])
    assert lab.evaluate("document.activeElement.dataset.handle") == "1"
    lab.keyboard.press("Home")
    assert own(lab)[1] == own(lab)[0]
    assert prices(lab)[2] == "–" and "walk is missing" in lab.locator("[data-lab=draw] tbody").inner_text()


def test_a_finger_drags_boundaries_and_paints(lab):
    """Real touch events, with the moves between down and up."""
    session = lab.context.new_cdp_session(lab)

    def stroke(x, y, dx):
        touch = "Input.dispatchTouchEvent"
        session.send(touch, {"type": "touchStart", "touchPoints": [{"x": x, "y": y}]})
        for share in (0.25, 0.5, 0.75, 1):
            session.send(touch, {"type": "touchMove", "touchPoints": [{"x": x + share * dx, "y": y}]})
        session.send(touch, {"type": "touchEnd", "touchPoints": []})

    lab.set_viewport_size(NARROW)
    lab.locator("[data-lab=draw]").get_by_label("Brush").fill("7")
    x, y = cell_centre(lab, 2, 1)
    unit = lab.locator(".lab-grid > rect").first.bounding_box()["width"]
    stroke(x, y, 5 * unit)
    assert costs(lab)[2:8, 1].tolist() == [7] * 6
    before, handle = own(lab), lab.locator(".lab-handle circle").nth(2)
    handle.scroll_into_view_if_needed()
    box = handle.bounding_box()
    stroke(box["x"] + box["width"] / 2, box["y"] + 3, -2 * unit)
    assert own(lab) == [*before[:2], before[2] - 2, *before[3:]]
    check_panel(lab)


@pytest.mark.parametrize("label, value, message", [
    ("Transcript", " , ", "transcript: the names of one action or more expected, found none"),
    ("Transcript", "walk, background", "actions only expected, found “background”"),
    ("Transcript", ",".join("abcdefghijklm"), "at most 12 actions expected here, found 13"),
    ("Intervals", "6", "7 intervals or more expected, the least that the transcript takes; found 6"),
    ("Intervals", "", "intervals: a whole number from 1 to 60 expected"),
    ("lasts at least", "6", "22 intervals or more expected"),
    ("Price of leaving", "-1", "price: a number of 0 or more expected"),
])  # fmt: skip
def test_what_cannot_be_is_said(lab, label, value, message):
    field = lab.locator("[data-lab=draw]").get_by_label(label)
    old = field.input_value()
    field.fill(value)
    status = lab.locator("[data-lab=draw] [role=status]")
    assert message in status.inner_text() and "lab-fault" in status.get_attribute("class")
    field.fill(old)
    assert "The best labelling costs" in status.inner_text()
    check_panel(lab)


# ------------------------------------------------------------------ second panel
def give(page, content, name="clip.csv"):
    content = content.encode() if isinstance(content, str) else content
    page.locator("[type=file]").set_input_files({"name": name, "mimeType": "text/csv", "buffer": content})


def status(page):
    return page.locator("[data-lab=clip] [role=status]").inner_text()


def wait(page, state):
    page.wait_for_selector(f"[data-lab=clip][data-state={state}]")


@pytest.mark.parametrize("mark, head", [(",", ""), (";", "a;b;c;d\r\n"), ("\t", ""), (",", '"x 1",y,z,w\n')])
def test_own_features_give_the_packages_labels(lab, tmp_path, mark, head):
    rng = np.random.default_rng(3)
    truth = np.repeat([2, 0, 2, 1, 2], 8)
    X = np.round(rng.standard_normal((3, 4))[truth] + 0.4 * rng.standard_normal((40, 4)), 6)
    give(lab, head + "\r\n".join(mark.join(map(str, row)) for row in X) + "\n", "dish.csv")
    wait(lab, "read")
    panel = lab.locator("[data-lab=clip]")
    given = {"Transcript": "=pour\nstir", "lasts at least": "3", "λ": "0.02", "κ₀": "0.0005", "Passes": "50"}
    for label, value in given.items():
        panel.get_by_label(label).fill(value)
    panel.get_by_role("button", name="Label", exact=True).click()
    wait(lab, "done")
    with lab.expect_download() as got:
        panel.get_by_role("link", name="Download labels.csv").click()
    got.value.save_as(tmp_path / "labels.csv")
    lines = (tmp_path / "labels.csv").read_text(encoding="utf8").splitlines()
    with lab.expect_download() as got:
        panel.get_by_role("link", name="Download segments.csv").click()
    got.value.save_as(tmp_path / "segments.csv")
    rows = [line.split(",") for line in (tmp_path / "segments.csv").read_text(encoding="utf8").splitlines()]

    X = (X - X.mean(axis=0)) / X.std(axis=0)
    clips = Clips(X, [40], [[0, 1]], 2)
    chosen, kappa = Ordered(clips, min_duration=3), 5e-4 * np.array([-1, -1, 1])
    split = np.repeat([2, 0, 2, 1, 2], lab.evaluate("SingleClip.evenSplit(40, Chain.make([0, 1], 2, 'around', 3))"))
    solution = frank_wolfe(RidgeObjective(X, 0.02, kappa), chosen, one_hot(split, 3), n_iter=50)
    labels = round_assignment(solution.Z, chosen)
    names = ["'=pour", "stir", "background"]
    assert lines == ["interval,label", *(f"{t},{names[c]}" for t, c in enumerate(labels))]
    borders = [0, *(np.flatnonzero(np.diff(labels)) + 1).tolist(), 40]
    assert rows == [["clip", "action", "start", "end"],
                    *(["dish", names[labels[a]], str(a), str(b)] for a, b in zip(borders[:-1], borders[1:], strict=True)
                      if labels[a] < 2)]  # fmt: skip
    assert f"value {solution.objective[-1]:.5g}" in status(lab)


MALFORMED = [
    ("", "one line for each interval expected, found an empty file"),
    ("a,b\n", "found only a line of names"),
    ("1,2\n3\n", "line 2: 2 columns expected as in the first line, found 1"),
    ("1,2\n\n3,x\n", "line 3, column 2: a finite number expected, found “x”"),
    ("1,2\n3,\n", "line 2, column 2: a finite number expected, found nothing"),
    ("1,2\nnan,4\n", "line 2, column 1: a finite number expected, found “nan”"),
    ("1;2\n3,5;4\n", "found “3,5” (write decimals with a point)"),
    ("1,2\n1e999,4\n", "a finite number expected, found “1e999”"),
    (b"\x89PNG\x00\x01", "a text file expected (CSV), found a binary one"),
    ("1\n" * 5001, "at most 5000 intervals expected, found 5001"),
    (",".join(["1"] * 201), "at most 200 columns expected, found 201"),
]


@pytest.mark.parametrize("content, message", MALFORMED)
def test_a_malformed_file_is_refused(lab, content, message):
    give(lab, content)
    wait(lab, "fault")
    assert status(lab).startswith("clip.csv: ") and message in status(lab)
    assert lab.locator("[data-lab=clip] svg").is_hidden()
    lab.get_by_role("button", name="Label", exact=True).click()
    assert status(lab) == "features: a CSV file expected, found none"
    give(lab, "1,2\n3,4\n5,6\n")  # and the next one is read
    wait(lab, "read")


@pytest.mark.parametrize("label, value, message", [
    ("Transcript", "", "transcript: the names of one action or more expected, found none"),
    ("Transcript", "a,b,c", "28 intervals or more expected, the least that the list takes with actions of 8 or more"),
    ("λ", "0", "λ: a number above 0 expected"), ("κ₀", "7", "κ₀: a number from"),
    ("Passes", "2.5", "passes: a whole number from 1 to 2000 expected, found “2.5”"),
])  # fmt: skip
def test_what_the_clip_cannot_be_is_said(lab, label, value, message):
    give(lab, "1,2\n" * 5 + "2,1\n" * 5)
    wait(lab, "read")
    panel = lab.locator("[data-lab=clip]")
    panel.get_by_label("Transcript").fill("walk")
    panel.get_by_label(label).fill(value)
    panel.get_by_role("button", name="Label", exact=True).click()
    wait(lab, "fault")
    assert message in status(lab)


def test_a_dropped_file_is_read(lab):
    data = base64.b64encode(b"1,2\n3,4\n5,6\n").decode()
    lab.evaluate("""data => { const transfer = new DataTransfer();
        transfer.items.add(new File([Uint8Array.from(atob(data), c => c.charCodeAt(0))], "dropped.csv"));
        const dropped = new DragEvent("drop", {dataTransfer: transfer, bubbles: true});
        document.querySelector(".lab-drop").dispatchEvent(dropped); }""", data)
    wait(lab, "read")
    assert status(lab).startswith("dropped.csv: 3 intervals, 2 columns.")


def test_the_example_shows_the_trap_and_the_way_out(lab):
    """Actions of at least 8 intervals are found; without a least length they shrink, as chapter 9 says."""
    names, right = ["walk", "sit", "answer", "background"], {}
    truth = lab.evaluate("SingleClip.example().truth")
    for least in ("8", "1"):
        lab.locator("[data-lab=clip]").get_by_label("lasts at least").fill(least)
        lab.get_by_role("button", name="Use the example").click()
        wait(lab, "done")
        picture = lab.locator("[data-lab=clip] svg")
        assert picture.locator("text").all_text_contents()[0] == "labels"
        labels = np.full(len(truth), 3)
        told = picture.get_attribute("aria-label").split(": ")[1]
        for name, a, b in re.findall(r"(\w+)\s(\d+)(?:–(\d+))?(?:,|$)", told):
            labels[int(a) - 1:int(b or a)] = names.index(name)
        right[least] = np.mean(labels == truth)
    assert right["8"] > 0.8 and right["1"] < 0.5


def test_names_of_actions_are_text(lab):
    lab.locator("[data-lab=draw]").get_by_label("Transcript").fill("<b>x</b>, <img src=1>")
    assert lab.locator("main b, main img").count() == 0
    assert "<b>x</b>\u00a0" in lab.locator("[data-lab=draw] tbody").inner_text()


# ------------------------------------------------------------------ to the eye
def test_colours_are_those_of_the_book():
    text = (ASSETS / "laboratory.js").read_text(encoding="utf8")
    assert json.loads(re.search(r"PALETTE = (\[.*?\])", text, re.DOTALL)[1]) == list(plots.PALETTE)
    assert re.search(r'BACKGROUND_COLOR = "(.*?)"', text)[1] == plots.BACKGROUND_COLOR


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_letters_can_be_read_on_their_colours(lab, mode):
    """4.5 to 1 for every text on a block or a cell; blocks stand out from a dark page by 3 to 1."""
    lab.locator("[data-lab=draw]").get_by_label("Transcript").fill("a,b,c,d,e,f,g,h,i,j,k,l")
    lab.locator("[data-lab=draw]").get_by_label("Intervals").fill("25")
    lab.evaluate(f"document.documentElement.dataset.theme = '{mode}'")
    pairs = lab.evaluate("""() => new Promise(done => requestAnimationFrame(() => done(
        [...document.querySelectorAll('[data-lab=draw] svg rect + text')].filter(text => text.style.fill).map(text =>
            [text.style.fill, text.previousSibling.getAttribute('fill')]))))""")
    def luminance(text):
        values = np.array([float(v) for v in re.findall(r"[\d.]+", text)[:3]]) / 255
        values = np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)
        return float(values @ [0.2126, 0.7152, 0.0722])

    assert len(pairs) > 300
    for texts in set(map(tuple, pairs)):
        low, high = sorted(map(luminance, texts))
        assert (high + 0.05) / (low + 0.05) >= 4.5, texts


@pytest.mark.parametrize("mode", ["light", "dark"])
def test_the_panels_are_accessible(lab, axe, mode):
    lab.evaluate(f"document.documentElement.dataset.theme = '{mode}'")
    lab.get_by_role("button", name="Use the example").click()
    wait(lab, "done")
    lab.locator("[data-lab=draw] summary").click()
    lab.evaluate(axe)
    found = lab.evaluate("axe.run({resultTypes: ['violations'], preload: false})")["violations"]
    assert [(rule["id"], node["html"][:200], node["failureSummary"]) for rule in found for node in rule["nodes"]] == []


@pytest.mark.parametrize("viewport", [WIDE, NARROW, {"width": 375, "height": 800}], ids=["wide", "390", "375"])
def test_the_panels_fit(lab, viewport):
    lab.set_viewport_size(viewport)
    lab.get_by_role("button", name="Use the example").click()
    wait(lab, "done")
    lab.locator("[data-lab=draw]").get_by_label("Transcript").fill("a rather long name of an action, sit, answer, sit")
    lab.locator("[data-lab=draw] summary").click()
    assert lab.evaluate("document.documentElement.scrollWidth") <= viewport["width"]
    box = lab.locator("[data-lab=draw]").bounding_box()
    for name in (".lab-grid", "[data-lab=draw] svg:not(.lab-grid)"):
        inside = lab.locator(name).bounding_box()
        assert box["x"] <= inside["x"] and inside["x"] + inside["width"] <= box["x"] + box["width"]
    lab.wait_for_function("""() => [...document.querySelectorAll('.lab-grid')].every(svg =>
        Math.abs(svg.viewBox.baseVal.width - svg.getBoundingClientRect().width) < 4)""")


# ------------------------------------------------------------------ the panel of the notebook
def test_the_panel_in_jupyter_follows_its_controls():
    """Each control changes the picture; what the package refuses is shown as text, and gone with its cause."""
    cells = json.loads((ROOT / "book" / "laboratory.ipynb").read_text(encoding="utf8"))["cells"]
    sources = ["".join(cell["source"]) for cell in cells]
    names = {"seed": 0}
    for start in ("import base64", "def panel():"):
        (source,) = [text for text in sources if text.startswith(start)]
        exec(source, names)
    *controls, picture = names["panel"]().children
    controls = {control.description: control for control in controls}
    seen = [picture.value]
    for name, value in [("seed", 3), ("transcript", "sit, walk, sit"), ("T", 25), ("least", 4), ("skip", True),
                        ("price", 0.0), ("background", "between"), ("background", None)]:  # fmt: skip
        controls[name].value = value
        assert picture.value.startswith('<img alt="The path over its costs. best: '), name
        seen.append(picture.value)
    assert len(set(seen)) == len(seen)
    controls["T"].value, controls["transcript"].value = 8, "a, b, c, d, e, f, g, h, <i>"
    assert picture.value.startswith("<pre>") and "T &gt;= 9 intervals expected" in picture.value
    controls["transcript"].value = "a"
    assert picture.value.startswith("<img")


# ------------------------------------------------------------------ the built page
def test_the_built_page_holds_both_panels(browser, book):
    page = visit(browser, book.html / "laboratory.html")
    page.wait_for_selector("[data-lab=draw][data-state=ready]")
    check_panel(page)
    page.get_by_role("button", name="Use the example").click()
    wait(page, "done")
    assert page.faults == []
    page.context.close()


def test_other_pages_do_not_load_it(book):
    for path in book.html.glob("*.html"):
        assert ("chain.js" in path.read_text(encoding="utf8")) == (path.stem == "laboratory"), path.name
