"""Take the picture of timelines.html that chapter 18 shows, from the twelve recordings that it labels.

    python scripts/make_timelines_picture.py

Needs Chromium and playwright.
"""

import shutil
import tempfile
from pathlib import Path

import numpy as np
from PIL import Image
from playwright.sync_api import sync_playwright

from ordering import commands, datasets
from ordering.clips import label_runs

OUT = Path(__file__).resolve().parents[1] / "book" / "_assets" / "timelines.png"


def write_folder(root):
    """The second and third thirds of the six motion capture recordings, with their lists."""
    recordings, actions = datasets.mocap6_recordings(), []
    for part in ("features", "transcripts"):
        (root / part).mkdir(parents=True)
    for name, angles, labels in zip(recordings.names, recordings.angles, recordings.labels, strict=True):
        rows = np.hstack([angles, np.abs(np.diff(angles, axis=0, prepend=angles[:1]))])
        ends = np.linspace(0, len(rows), 4).astype(int)
        for letter, a, b in zip("bc", ends[1:-1], ends[2:], strict=True):
            np.save(root / "features" / f"{name}{letter}.npy", rows[a:b])
            names = [recordings.actions[c] for c in label_runs(labels[a:b])]
            actions += [name for name in names if name not in actions]
            (root / "transcripts" / f"{name}{letter}.txt").write_text("\n".join(names))
    lines = [f"{a} {name}\n" for a, name in enumerate(actions)]
    (root / "mapping.txt").write_text("".join(lines))


def main():
    with tempfile.TemporaryDirectory() as place, sync_playwright() as playwright:
        root = Path(place)
        write_folder(root / "exercises")
        out = ["--out", str(root / "found"), "--fps", "10", "--layout", "Td"]
        assert commands.main(["label", str(root / "exercises"), *out]) == 0
        chromium = shutil.which("chromium") or shutil.which("google-chrome")
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page(viewport={"width": 1120, "height": 860})
        page.goto((root / "found" / "timelines.html").as_uri())
        page.screenshot(path=str(root / "page.png"))
        browser.close()
        with Image.open(root / "page.png") as image:
            image.convert("RGB").quantize(128).save(OUT, optimize=True)


if __name__ == "__main__":
    main()
