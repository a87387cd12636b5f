"""Files and folders that appear whole or not at all, and files read that nobody vouches for."""

from __future__ import annotations

import hashlib
import json
import math
import os
import shutil
import stat
import uuid
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from typing import IO, Any

import numpy as np

MADE = ".ordering.sha256"  # which files of a folder `whole_folder` made, as sha256sum writes it
LARGEST_RATIO = 1100  # deflate makes nothing more than 1032 times smaller
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


# ------------------------------------------------------------------------------------------------ reading
def require_regular(path: str | os.PathLike[str]) -> None:
    """A `ValueError` if there is something else than a file: a pipe would wait for ever."""
    if not stat.S_ISREG(os.stat(path).st_mode):
        raise ValueError(f"{path}: a regular file expected, found a folder, a pipe or a device")


def read_json(path: str | os.PathLike[str]) -> Any:
    """Content of a JSON file; a `ValueError` names a damaged one."""
    require_regular(path)
    try:
        return json.loads(Path(path).read_bytes())
    except (ValueError, RecursionError) as error:
        found = error if os.path.getsize(path) else "an empty file"
        raise ValueError(f"{path}: JSON expected, found {found}") from None


def stored_arrays(path: str | os.PathLike[str], keys: Sequence[str] | None = None) -> dict[str, np.ndarray]:
    """Arrays of an .npy file (under "") or an .npz file: numbers and texts, never pickles.

    Sizes are compared with those of the file before there is an array.

    Parameters
    ----------
    path : str or path
    keys : sequence of str, optional
        Of several arrays only the first one that is named here.

    Raises
    ------
    ValueError
        What is found in place of arrays, without the name of the file.
    """
    with open(path, "rb") as file:
        size = os.fstat(file.fileno()).st_size
        try:
            if file.read(6) == b"\x93NUMPY":
                return {"": _array(file, size)}
            with zipfile.ZipFile(file) as archive:
                members = {member.filename.removesuffix(".npy"): member for member in archive.infolist()}
                names = list(members) if keys is None or len(members) == 1 else [n for n in keys if n in members][:1]
                if not names:
                    raise ValueError(f"arrays {list(members)[:10]}, none of them {' or '.join(keys or ())}")
                return {name: _member(archive, members[name], size) for name in names}
        except Exception as error:  # the readers trip over foreign bytes in many ways
            raise ValueError(str(error) or type(error).__name__) from None


def _member(archive, member, size):
    """An array of an archive of `size` bytes, which hold what is declared even where they are compressed."""
    if member.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) or member.compress_size > size \
            or member.file_size > LARGEST_RATIO * member.compress_size + 2**10:
        raise ValueError(f"{member.filename!r} with {member.file_size} bytes in {member.compress_size}")
    with archive.open(member) as file:
        return _array(file, member.file_size)


def _array(file, size):
    """The array at the beginning of `size` bytes."""
    file.seek(0)
    version = np.lib.format.read_magic(file)
    read_header = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    if version not in read_header:
        raise ValueError(f"version {version} of an array")
    shape, _, dtype = read_header[version](file)
    if not all(type(n) is int and n >= 0 for n in shape) or dtype.kind not in "biufcUS" or dtype.itemsize == 0 \
            or math.prod(shape) * dtype.itemsize > size - file.tell():
        raise ValueError(f"{dtype} of shape {shape} in {size} bytes")
    file.seek(0)
    array = np.lib.format.read_array(file, allow_pickle=False)
    if dtype.kind == "U" and array.ravel().view(np.dtype("u4").newbyteorder(dtype.byteorder)).max(initial=0) > 0x10FFFF:
        raise ValueError("text of characters that do not exist")
    return array
