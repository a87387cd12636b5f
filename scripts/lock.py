"""Give every pin of requirements.txt the hashes of all files of its release, so that it holds on each platform.

    python scripts/lock.py

Change a version in requirements.txt (by hand, with or without its hashes), then run this with uv on the PATH.
"""

import re
import subprocess
import tempfile
from pathlib import Path

REQUIREMENTS = Path(__file__).resolve().parents[1] / "requirements.txt"
UV = ["uv", "pip", "compile", "--quiet", "--universal", "--python-version", "3.11", "--no-deps", "--generate-hashes",
      "--no-annotate", "--no-header", "--no-emit-index-url"]  # fmt: skip


def pins(text):
    """The lines that name a release, without hashes."""
    return [line.removesuffix("\\").strip() for line in text.splitlines() if re.match(r"[A-Za-z0-9]", line)]


def release(pin):
    return pin.partition(";")[0].strip()


def main():
    text = REQUIREMENTS.read_text(encoding="utf8")
    head = [line for line in text.splitlines() if line.startswith("#")]
    with tempfile.TemporaryDirectory() as folder:
        wanted, found = Path(folder, "wanted.in"), Path(folder, "found.txt")
        wanted.write_text("\n".join(pins(text)), encoding="utf8")
        subprocess.run([*UV, wanted, "-o", found], check=True, stdout=subprocess.DEVNULL)
        hashes, last = {}, ""
        for line in found.read_text(encoding="utf8").splitlines():
            if line.lstrip().startswith("--hash="):
                hashes[last].append(line.strip().removesuffix("\\").strip())
            elif pins(line):
                last = release(pins(line)[0])
                hashes[last] = []
    lines = [" \\\n    ".join([pin, *hashes[release(pin)]]) for pin in sorted(pins(text))]
    REQUIREMENTS.write_text("\n".join([*head, *lines, ""]), encoding="utf8", newline="\n")


if __name__ == "__main__":
    main()
