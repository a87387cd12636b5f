"""MATLAB files of version 5 to 7.3 as plain arrays, lists and dicts.

The readers below it are C code that a damaged file can crash or hang, so a child process reads: this very file
run as a script, which imports NumPy, SciPy or h5py, and nothing of `ordering`. Arrays come back through a pipe.
"""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

SECONDS = 30.0  # for a small file; a second more for each megabyte
_LARGEST_RATIO = 1100  # of an array to its file: deflate makes nothing more than 1032 times smaller
_SPARE = 2**16  # bytes that any file may hold
_DEEPEST = 4  # cells in cells; the files here have two levels
_HDF5 = b"\x89HDF\r\n\x1a\n"


# ------------------------------------------------------------------------------------------- the parent
def read_mat(path: str | Path, names: list[str]) -> dict[str, Any]:
    """Variables of a MAT file: a matrix as an array, a cell as a list, structs as a list of dicts.

    Examples
    --------
    >>> import tempfile
    >>> from scipy.io import savemat
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     savemat(f"{folder}/a.mat", {"X": [[1, 2]]})
    ...     read_mat(f"{folder}/a.mat", ["X"])
    {'X': array([[1, 2]])}
    """
    size = os.path.getsize(path)  # a missing file is no fault of its content
    if not os.path.isfile(path):
        raise ValueError(f"{path}: a regular file expected, found a folder, a pipe or a device")
    if _is_hdf5(path) and importlib.util.find_spec("h5py") is None:
        raise ImportError("ordering.datasets needs h5py for MATLAB 7.3 files: pip install 'ordering[mat]'")
    limit = SECONDS + size / 1e6
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "OPENBLAS_NUM_THREADS": "1"}
    with subprocess.Popen([sys.executable, "-P", __file__, path, *names], env=environment, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        late = threading.Timer(limit, child.kill)
        late.start()
        try:
            return _receive(child.stdout)
        except (ValueError, EOFError, MemoryError) as error:
            in_time = late.is_alive()
            found = (error if in_time else f"nothing that can be read within {limit:.0f} s")
            raise ValueError(f"{path}: a MATLAB file of version 5 to 7.3 expected, found {found}") from None
        finally:
            late.cancel()
            child.kill()


def _is_hdf5(path):
    """Whether HDF5 begins at byte 0, 512, 1024, 2048 and so on; MATLAB writes 512."""
    place, size = 0, os.path.getsize(path)
    with open(path, "rb") as file:
        while place < size:
            file.seek(place)
            if file.read(len(_HDF5)) == _HDF5:
                return True
            place = max(512, 2 * place)
    return False


def _receive(pipe):
    line = pipe.readline()
    if not line:
        raise ValueError("damage that ends the reader")
    head = json.loads(line)
    if "error" in head:
        raise ValueError(head["error"])
    source = SimpleNamespace(read=pipe.read)  # not a file to NumPy, which asks files for their position
    arrays = [np.lib.format.read_array(source, allow_pickle=False) for _ in range(head["arrays"])]
    return _filled(head["values"], arrays)


def _filled(value, arrays):
    if isinstance(value, int):
        return arrays[value]
    if isinstance(value, list):
        return [_filled(entry, arrays) for entry in value]
    return {name: _filled(entry, arrays) for name, entry in value.items()}


# -------------------------------------------------------------------------------------------- the child
def _main(path, *names):
    arrays: list[np.ndarray] = []
    try:
        _limit_memory(path)
        values = (_read_hdf5 if _is_hdf5(path) else _read_scipy)(path, names)
        left = [_LARGEST_RATIO * os.path.getsize(path) + _SPARE]
        head = {"values": _emptied(values, arrays, left), "arrays": len(arrays)}
    except Exception as error:  # the readers trip over damage in many ways
        arrays, head = [], {"error": str(error) or type(error).__name__}
    sys.stdout.buffer.write(json.dumps(head).encode() + b"\n")
    target = SimpleNamespace(write=sys.stdout.buffer.write)
    for array in arrays:
        np.lib.format.write_array(target, array, allow_pickle=False)


def _limit_memory(path):
    """What a file of this size can hold, and 4 GiB: declared sizes may be anything."""
    try:
        import resource

        _, hard = resource.getrlimit(resource.RLIMIT_AS)
        limit = 2**32 + _LARGEST_RATIO * os.path.getsize(path)
        resource.setrlimit(resource.RLIMIT_AS, (limit if hard < 0 else min(limit, hard), hard))
    except (ImportError, ValueError, OSError):  # not on every system
        pass


def _emptied(value, arrays, left):
    """The same nest of lists and dicts, with every array put aside and its number in its place.

    `left` bytes may still come: many entries of a cell may be one and the same stored matrix.
    """
    left[0] -= 8 + getattr(value, "nbytes", 0)
    if left[0] < 0:
        raise ValueError(f"contents of at most {_LARGEST_RATIO} times the file's size expected, found more")
    if isinstance(value, list):
        return [_emptied(entry, arrays, left) for entry in value]
    if isinstance(value, dict):
        return {name: _emptied(entry, arrays, left) for name, entry in value.items()}
    if value.dtype.hasobject:
        raise ValueError(f"numbers expected, found {value.dtype}")
    arrays.append(value)
    return len(arrays) - 1


def _dense(data, rows, pointer, shape):
    """A sparse matrix (columns compressed) as an array, all its indices checked before they are used."""
    rows, pointer = np.ravel(rows).astype(np.int64), np.ravel(pointer).astype(np.int64)
    (height, width), data = shape, np.ravel(data)
    if (height < 0 or len(pointer) != width + 1 or pointer[0] != 0 or np.any(np.diff(pointer) < 0)
            or not pointer[-1] == len(rows) == len(data) or np.any((rows < 0) | (rows >= height))):
        raise ValueError(f"a sparse matrix of shape {shape} with indices inside it expected, found others")
    if height * width * data.itemsize > _LARGEST_RATIO * (data.nbytes + rows.nbytes + pointer.nbytes) + _SPARE:
        raise ValueError(f"a sparse matrix with more entries expected, found {len(data)} of shape {shape}")
    matrix = np.zeros(shape, data.dtype)
    np.add.at(matrix, (rows, np.repeat(np.arange(width), np.diff(pointer))), data)
    return matrix


def _read_scipy(path, names):
    import scipy.io

    found = scipy.io.loadmat(path, appendmat=False, squeeze_me=False, variable_names=list(names))
    return {name: _from_scipy(found[name]) for name in names if name in found}


def _from_scipy(value):
    if not isinstance(value, np.ndarray):
        sparse = value.tocsc()
        return _dense(sparse.data, sparse.indices, sparse.indptr, sparse.shape)
    if value.dtype.names is not None:
        return [{field: _from_scipy(entry[field]) for field in value.dtype.names if field == "actid"}
                for entry in value.ravel(order="F")]
    if value.dtype == object:
        return [_from_scipy(entry) for entry in value.ravel(order="F")]
    return value


def _read_hdf5(path, names):
    import h5py

    with h5py.File(path, "r") as file:
        reader = _Hdf5(h5py, file)
        members = {name: reader.member(file, name) for name in names}
        return {name: reader.value(item) for name, item in members.items() if item is not None}


class _Hdf5:
    """What MATLAB 7.3 stores: axes reversed, cells and fields as references, and nothing of other files."""

    def __init__(self, h5py, file):
        self.h5py, self.file, self.values = h5py, file, {}

    def member(self, group, name):
        """What a group itself holds under a name, or None: a link could lead to any file of the machine."""
        link = group.get(name, getlink=True)
        if link is None:
            return None
        if not isinstance(link, self.h5py.HardLink):
            raise ValueError(f"{name}: stored data expected, found a link")
        return group[name]

    def value(self, item, depth=0):
        """An object as it is in memory, read once even if many references lead to it."""
        if depth > _DEEPEST:
            raise ValueError(f"at most {_DEEPEST} cells inside each other expected, found more")
        place = self.h5py.h5o.get_info(item.id).addr
        if place not in self.values:
            self.values[place] = (self._group if isinstance(item, self.h5py.Group) else self._dataset)(item, depth)
        return self.values[place]

    def _group(self, group, depth):
        if "MATLAB_sparse" in group.attrs:
            data, rows, pointer = (self.member(group, name) for name in ("data", "ir", "jc"))
            pointer = self._stored(pointer)
            return _dense(np.empty(0) if data is None else self._stored(data),
                          np.empty(0) if rows is None else self._stored(rows), pointer,
                          (int(group.attrs["MATLAB_sparse"]), len(pointer) - 1))
        field = self.member(group, "actid")
        if field is None:
            return [{}]
        if self._holds_references(field) and field.attrs.get("MATLAB_class") != b"cell":
            return [{"actid": entry} for entry in self._entries(field, depth)]
        return [{"actid": self.value(field, depth + 1)}]

    def _dataset(self, item, depth):
        kind = item.attrs.get("MATLAB_class")
        if item.attrs.get("MATLAB_empty", 0):  # the dataset then holds the shape
            shape = self._stored(item).ravel().tolist()
            if 0 not in shape:
                raise ValueError(f"{item.name}: the shape of an empty array expected, found {shape[:10]}")
            return [] if kind == b"cell" else np.empty(shape)
        if self._holds_references(item):
            return self._entries(item, depth)
        if kind == b"char":
            raise ValueError(f"{item.name}: numbers expected, found text")
        return np.ascontiguousarray(self._stored(item).T)

    def _entries(self, item, depth):
        return [self.value(self.file[reference], depth + 1) for reference in self._stored(item).ravel()]

    def _stored(self, item):
        """Content of a dataset, once it is sure that the file holds it."""
        if not isinstance(item, self.h5py.Dataset) or item.shape is None \
                or not (item.dtype.kind in "iufb" or self._holds_references(item)):
            raise ValueError(f"{getattr(item, 'name', item)}: numbers expected, found "
                             f"{getattr(item, 'dtype', type(item).__name__)}")
        if item.is_virtual or item.external:
            raise ValueError(f"{item.name}: stored data expected, found a part of another file")
        stored = item.id.get_storage_size()
        if item.nbytes > _LARGEST_RATIO * stored + _SPARE:
            raise ValueError(f"{item.name}: {item.nbytes} bytes expected, its shape {item.shape}, found {stored}")
        return item[()]

    def _holds_references(self, item):
        return isinstance(item, self.h5py.Dataset) and self.h5py.check_ref_dtype(item.dtype) is self.h5py.Reference


if __name__ == "__main__":
    _main(*sys.argv[1:])
