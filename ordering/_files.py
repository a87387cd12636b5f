"""Files and folders that appear whole or not at all."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any

try:
    import fcntl
except ImportError:  # Windows, where no lock is held and nothing that a killed run left is removed
    fcntl = None  # type: ignore[assignment]

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
    draft.mkdir(parents=True)
    lock = open(draft / "lock", "a")
    try:
        _hold(lock)
        for part in ("new", "old"):
            (draft / part).mkdir()
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
    finally:
        lock.close()
    shutil.rmtree(draft, ignore_errors=True)


@contextmanager
def shared_folder(folder: str | Path) -> Iterator[None]:
    """Work in a folder with other processes; the first one there removes the drafts of files that killed ones left.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     Path(folder, "a.draft").touch()
    ...     with shared_folder(folder):
    ...         Path(folder, "a.draft").exists()
    False
    """
    with open(Path(folder, ".lock"), "a") as lock:
        if _hold(lock):
            for draft in Path(folder).glob("*.draft"):
                draft.unlink()
        if fcntl is not None:
            fcntl.flock(lock, fcntl.LOCK_SH)
        yield


def _hold(lock):
    """Lock an open file until it is closed or this process ends; false where another process holds it."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _exchange(out, draft):
    """New files take the place of old ones; all or none."""
    moved = []

    def move(path, target):
        moved.append((path, target))
        os.rename(path, target)

    try:
        for path in sorted(set(out.iterdir()) - {draft}):
            move(path, draft / "old" / path.name)
        move(draft / "old", draft / "gone")  # from here on the new files are the right ones
        for path in sorted((draft / "new").iterdir()):
            move(path, out / path.name)
    except BaseException:
        for path, now in reversed(moved):
            if not path.exists():
                os.rename(now, path)
        raise


def _end_what_was_killed(out):
    """Drafts whose process is no more: undo or finish an exchange of files, and remove them."""
    for draft in {*out.glob(".*.draft"), *out.parent.glob(".*.draft")}:
        if not (re.fullmatch(r"\.[0-9a-f]{32}\.draft", draft.name) and (draft / "lock").is_file()):
            continue
        with suppress(OSError), open(draft / "lock", "a") as lock:
            if _hold(lock):
                if draft.parent == out:
                    for path in (draft / ("new" if (draft / "gone").exists() else "old")).iterdir():
                        os.rename(path, out / path.name)
                shutil.rmtree(draft)


def free_folder(out: str | Path, draft: Path | None = None) -> Path:
    """The path of a folder that may be written: a new one, or one with nothing but what `whole_folder` made.

    Raises
    ------
    ValueError
        It is something else; the error names what is there. Nothing in `draft` counts.
    """
    path = Path(os.path.realpath(out))
    if draft is None:
        _end_what_was_killed(path)
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
