"""MATLAB files of version 5 to 7.3 as plain arrays, lists and dicts."""

import struct
import zlib

import h5py
import numpy as np
import scipy.io
import scipy.sparse as sp

_UNREADABLE = (ValueError, TypeError, KeyError, IndexError, NotImplementedError, EOFError, OSError,
               RuntimeError, OverflowError, zlib.error, struct.error, scipy.io.matlab.MatReadError)


def read_mat(path, names):
    """Variables of a MAT file: a matrix as an array, a cell as a list, structs as a list of dicts."""
    with open(path, "rb"):  # a missing file is no fault of its content
        pass
    try:
        if h5py.is_hdf5(path):
            with h5py.File(path, "r") as file:
                return {name: _from_hdf5(file, file[name]) for name in names if name in file}
        found = scipy.io.loadmat(path, appendmat=False, squeeze_me=False, variable_names=names)
    except _UNREADABLE as error:
        raise ValueError(f"{path}: a MATLAB file of version 5 to 7.3 expected, found {error}") from error
    return {name: _from_scipy(found[name]) for name in names if name in found}


def _from_scipy(value):
    if sp.issparse(value):
        return value.toarray()
    if value.dtype.names is not None:
        return [{field: _from_scipy(entry[field]) for field in value.dtype.names if field == "actid"}
                for entry in value.ravel(order="F")]
    if value.dtype == object:
        return [_from_scipy(entry) for entry in value.ravel(order="F")]
    return value


def _from_hdf5(file, item):
    """A variable as MATLAB 7.3 stores it: axes reversed, cells and fields of structs as references."""
    if isinstance(item, h5py.Group):
        if "MATLAB_sparse" in item.attrs:
            shape = (int(item.attrs["MATLAB_sparse"]), len(item["jc"]) - 1)
            data = item["data"][()] if "data" in item else np.empty(0)
            rows = item["ir"][()] if "ir" in item else np.empty(0, np.int64)
            return sp.csc_matrix((data, rows, item["jc"][()]), shape=shape).toarray()
        if "actid" not in item:
            return [{}]
        field = item["actid"]
        if _holds_references(field) and field.attrs.get("MATLAB_class") != b"cell":
            return [{"actid": _from_hdf5(file, file[reference])} for reference in field[()].ravel()]
        return [{"actid": _from_hdf5(file, field)}]
    if item.attrs.get("MATLAB_empty", 0):  # the dataset then holds the shape
        return [] if item.attrs.get("MATLAB_class") == b"cell" else np.empty(item[()].ravel().astype(int))
    if _holds_references(item):
        return [_from_hdf5(file, file[reference]) for reference in item[()].ravel()]
    return np.ascontiguousarray(item[()].T)


def _holds_references(item):
    return isinstance(item, h5py.Dataset) and h5py.check_ref_dtype(item.dtype) is h5py.Reference
