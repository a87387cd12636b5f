"""The page of time lines in headless Chromium, opened from the disk, with every request to a host blocked."""

import pytest

from ordering.timelines import write_timelines

NAMES = ["a", "größe", "<b>b</b>", "clip 10", "clip 9"]
STIR = "<i>stir</i>"
ROWS = [{"clip": name, "action": action, "start_seconds": start, "end_seconds": start + 2.5, "confidence": sure}
        for i, name in enumerate(NAMES)
        for action, start, sure in [("pour", 1.0, 0.5 + i / 20), (STIR, 70.25, 0.9)]]


@pytest.fixture(scope="module")
def show(browser, tmp_path_factory):
    """Open a page; what goes wrong on it is kept as ``page.faults``."""
    contexts = []

    def opened(rows=ROWS, names=NAMES, length=100.0, place="", **options):
        path = tmp_path_factory.mktemp("page") / "timelines.html"
        write_timelines(path, rows, dict.fromkeys(names, length), title="<i>Time</i> lines")
        contexts.append(browser.new_context(offline=True, **{"viewport": {"width": 1300, "height": 900}} | options))
        page = contexts[-1].new_page()
        page.faults = []
        page.on("console", lambda message: page.faults.append(message.text))
        page.on("pageerror", lambda error: page.faults.append(str(error)))
        local = ("file:", "data:")
        page.on("request", lambda request: request.url.startswith(local) or page.faults.append(request.url))
        page.goto(path.as_uri() + place, wait_until="load")
        page.wait_for_selector(".lane")
        return page

    yield opened
    for context in contexts:
        context.close()


@pytest.fixture(scope="module")
def page(show):
    return show()


@pytest.fixture(scope="module")
def many(show):
    names = [f"clip {i}" for i in range(1000)]
    rows = [{"clip": name, "action": f"action {k % 60}", "start_seconds": 5.0 * k, "end_seconds": 5.0 * k + 4}
            for name in names for k in range(20)]
    return show(rows, names)


def column(page, number):
    return page.locator(f"#rows td:nth-child({number})").all_inner_texts()


def test_names_are_text(page):
    assert page.locator("h1").inner_text() == "<i>Time</i> lines" and page.locator("h3").all_inner_texts() == NAMES
    assert page.locator("#key li").all_inner_texts() == ["pour", STIR]
    assert page.locator("main b, main i i").count() == 0
    first = page.locator("#first li").all_inner_texts()
    assert first[0] == "a: confidence 0.70; least sure of pour, 1\u00a0s to 3.5\u00a0s (0.50)" and len(first) == 5
    assert page.faults == []


def test_hover_and_focus_tell_the_segment(page):
    tip, segment = page.locator("#tip"), page.locator("#clip-1 .lane button")
    segment.nth(1).hover()
    assert tip.inner_text() == f"{STIR}\n1:10.25 to 1:12.75\nconfidence 0.90" and tip.is_visible()
    page.keyboard.press("Escape")
    assert tip.is_hidden()
    segment.nth(0).focus()
    assert tip.inner_text().startswith("pour\n1\u00a0s to 3.5\u00a0s")
    for key, name in [("ArrowRight", STIR), ("ArrowRight", STIR), ("Home", "pour"), ("End", STIR),
                      ("ArrowLeft", "pour")]:  # fmt: skip
        page.keyboard.press(key)
        assert tip.inner_text().startswith(name)
    named = page.evaluate("document.activeElement.getAttribute('aria-label')")
    assert named == "pour, 1\u00a0s to 3.5\u00a0s, confidence 0.55"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('section').id") == "clip-2"
    lane, second = (page.locator(f"#clip-2 .lane{inside}").last.bounding_box() for inside in ("", " button"))
    assert second["x"] - lane["x"] == pytest.approx(0.7025 * lane["width"], abs=1)
    bars = [page.locator("#clip-2 .sure").nth(k).bounding_box()["height"] for k in (0, 1)]
    assert bars[0] / bars[1] == pytest.approx(0.6 / 0.9, abs=0.05)


@pytest.mark.parametrize("by", ["click", "Enter", "Space"])
def test_the_table_is_sorted_by_mouse_and_keys(show, by):
    page = show()
    heads = page.locator("#heads th")
    for number, least in [(3, "1"), (5, "0.50"), (2, STIR)]:
        button = heads.nth(number - 1).locator("button")
        for way in ("ascending", "descending"):
            button.click() if by == "click" else button.press(by)
            states = [heads.nth(k).get_attribute("aria-sort") for k in range(5)]
            assert states[number - 1] == way and states.count("none") == 4
            assert column(page, number)[0 if way == "ascending" else -1] == least
    heads.nth(0).locator("button").click()
    assert list(dict.fromkeys(column(page, 1)))[-2:] == ["clip 10", "größe"] and column(page, 1).index("clip 9") < 6


def test_only_recordings_with_a_part_of_a_name(show):
    page = show()
    page.get_by_label("Show recordings").fill("CLIP")
    assert page.locator(".clip:visible h3").all_inner_texts() == ["clip 10", "clip 9"]
    assert page.locator("#found").inner_text() == "2 of 5 recordings"
    page.get_by_label("Show recordings").fill("")
    assert page.locator(".clip:visible").count() == 5


def test_a_thousand_recordings(many):
    """What is out of sight is not drawn, until it is scrolled to or printed."""
    assert many.locator(".clip").count() == 1000 and many.locator(".lane").count() < 50
    many.locator("#clip-999").scroll_into_view_if_needed()
    many.wait_for_selector("#clip-999 .lane")
    assert many.locator("#rows tr").count() == 200
    many.get_by_role("button", name="show 1000 more").click()
    assert many.locator("#rows tr").count() == 1200
    many.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert many.locator(".lane").count() == 1000 and many.faults == []


def test_links_to_recordings(show):
    page = show(place="#clip-4")
    assert page.locator("#clip-4").bounding_box()["y"] < 900
    page.locator("#first a").first.click()
    assert page.url.endswith("#clip-0")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_accessible(show, axe, scheme):
    page = show(color_scheme=scheme)
    page.evaluate(axe)
    found = page.evaluate("axe.run({resultTypes: ['violations']})")["violations"]
    assert [(rule["id"], node["html"][:200], node["failureSummary"])
            for rule in found for node in rule["nodes"]] == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("many_actions", [True, False])
def test_names_can_be_read_on_their_colours(show, scheme, many_actions):
    """4.5 to 1 at least, measured on the pixels that the browser makes of each colour."""
    rows = [{"clip": "a", "action": f"action {k}", "start_seconds": float(k), "end_seconds": k + 1.0}
            for k in range(40 if many_actions else 7)]
    page = show(rows, ["a"], color_scheme=scheme)
    ratios = page.evaluate("""() => {
      const context = document.createElement("canvas").getContext("2d", {willReadFrequently: true});
      const light = colour => { context.fillStyle = colour; context.fillRect(0, 0, 1, 1);
        const [r, g, b] = [...context.getImageData(0, 0, 1, 1).data].slice(0, 3).map(v => v / 255)
          .map(v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4);
        return .2126 * r + .7152 * g + .0722 * b; };
      return [...document.querySelectorAll(".lane .hue")].map(element => { const style = getComputedStyle(element);
        const [a, b] = [light(style.color), light(style.backgroundColor)].sort((a, b) => b - a);
        return (a + .05) / (b + .05); }); }""")
    assert len(ratios) == len(rows) and min(ratios) >= 4.5


@pytest.mark.parametrize("width", [1400, 375])
def test_fits_the_window(show, width):
    page = show(viewport={"width": width, "height": 800})
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert page.evaluate("document.querySelector('.scroll').scrollWidth") <= width
