"""Files that appear whole or not at all."""

from __future__ import annotations

import os
import stat
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any


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
    except BaseException:
        draft.unlink(missing_ok=True)
        raise
