"""Arrays and JSON of files that nobody vouches for: what is in them, or a `ValueError`."""

from __future__ import annotations

import json
import math
import os
import stat
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

LARGEST_RATIO = 1100  # of an array to its file: deflate makes nothing more than 1032 times smaller


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
