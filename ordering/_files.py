"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import hashlib
import os
import shutil
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any

MADE = ".ordering.sha256"  # which files of a folder `whole_folder` made, as sha256sum writes it
OF_SYSTEMS = {".DS_Store", "Thumbs.db", "desktop.ini"}  # made by looking at a folder


@contextmanager
def whole_file(path: str | os.PathLike[str], mode: str = "w", **options: Any) -> Iterator[IO[Any]]:
    """Open a draft in the folder of `path` that takes its place at the end, and is gone after any error.

    A link is followed to the file that it names. That file keeps its permissions; a new one gets what the umask
    allows. A pipe or device is written to directly.

    Parameters
    ----------
    path : str or path
    mode : "w" or "wb"
    **options
        As of `open`.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with whole_file(f"{folder}/list.txt") as file:
    ...         print("walk", "sit", file=file)
    ...     Path(folder, "list.txt").read_text()
    'walk sit\\n'
    """
    if mode not in ("w", "wb"):
        raise ValueError(f'mode: "w" or "wb" expected, found {mode!r}')
    if os.path.exists(path) and not os.path.isfile(path):
        with open(path, mode, **options) as file:
            yield file
        return
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        raise FileNotFoundError(f"{path}: a file in an existing folder expected, found no folder {target.parent}")
    draft = target.with_name(f"{uuid.uuid4().hex}.draft")  # short and new, whatever the target's name
    try:
        with open(draft, mode.replace("w", "x"), **options) as file:
            if target.exists():
                os.chmod(draft, stat.S_IMODE(target.stat().st_mode))
            yield file
        os.replace(draft, target)
    except BaseException as error:
        draft.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, os.fspath(draft)):
            error.filename = os.fspath(path)  # a full disk has no name of its own
        raise


@contextmanager
def whole_folder(out: str | Path) -> Iterator[Path]:
    """A draft folder whose files go to the folder `out` at the end; after any error `out` is as it was.

    Raises
    ------
    ValueError
        `out` is a file, or holds something that an earlier run did not make.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as place:
    ...     for text in ("first", "again"):
    ...         with whole_folder(f"{place}/out") as draft:
    ...             _ = (draft / "a.txt").write_text(text)
    ...     Path(place, "out", "a.txt").read_text()
    'again'
    """
    out = free_folder(out)
    new_parents = [folder for folder in out.parents if not folder.exists()]
    draft = (out if out.exists() else out.parent) / f".{uuid.uuid4().hex}.draft"
    try:
        for part in ("new", "old"):
            (draft / part).mkdir(parents=True)
        yield draft / "new"
        files = sorted(path for path in (draft / "new").rglob("*") if path.is_file())
        lines = [f"{_digest(path)}  {path.relative_to(draft / 'new').as_posix()}\n" for path in files]
        (draft / "new" / MADE).write_text("".join(lines), encoding="utf-8")
        if out.exists():
            _exchange(free_folder(out, draft), draft)
        else:
            os.rename(draft / "new", out)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        for folder in new_parents:
            with suppress(OSError):
                folder.rmdir()
        raise
    shutil.rmtree(draft, ignore_errors=True)


def _exchange(out, draft):
    """New files take the place of old ones; all or none."""
    moved = []
    try:
        for source, target in ((out, draft / "old"), (draft / "new", out)):
            for path in sorted(source.iterdir()):
                if path != draft:
                    moved.append((path, target / path.name))
                    os.rename(*moved[-1])
    except BaseException:
        for path, now in reversed(moved):
            if not path.exists():
                os.rename(now, path)
        raise


def free_folder(out: str | Path, draft: Path | None = None) -> Path:
    """The path of a folder that may be written: a new one, or one with nothing but what `whole_folder` made.

    Raises
    ------
    ValueError
        It is something else; the error names what is there. Nothing in `draft` counts.
    """
    path = Path(os.path.realpath(out))
    there = next(folder for folder in (path, *path.parents) if folder.exists())
    if not there.is_dir():
        raise ValueError(f"{out}: a folder, or a new name, expected, found the file {there}")
    if not os.access(there, os.W_OK | os.X_OK):
        raise ValueError(f"{out}: a folder that may be written expected, found that {there} may not")
    others = list(islice(_others(path, draft), 6)) if path.exists() else []
    if others:
        raise ValueError(f"{out}: a new or empty folder, or one with nothing but what an earlier run made, "
                         f"expected, found {', '.join(sorted(others[:5]))}{' and more' * (len(others) > 5)}")
    return path


def _others(folder, draft):
    """Files that no earlier run made, or that were changed since."""
    made = {}
    with suppress(OSError, UnicodeDecodeError):
        lines = (folder / MADE).read_text(encoding="utf-8").split("\n")
        made = {name: digest for digest, _, name in (line.partition("  ") for line in lines)}
    for path in folder.rglob("*"):
        name = path.relative_to(folder).as_posix()
        is_folder = path.is_dir() and not path.is_symlink() and os.access(path, os.R_OK | os.X_OK)
        if is_folder or name == MADE or path.name in OF_SYSTEMS or draft in path.parents:
            continue
        if path.is_symlink() or not path.is_file() or name not in made or made[name] != _digest(path):
            yield name


def _digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()
