"""Files that appear whole or not at all, whatever happens while they are written."""

import os
import re
import resource
import stat
import threading
import warnings
import zipfile
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from ordering import OrderedActionLabeling
from ordering._files import whole_file
from ordering._stored import read_json, stored_arrays
from ordering.datasets import write_segments
from ordering.datasets.formats import SUFFIXES
from ordering.paper import experiments
from ordering.timelines import write_timelines


def write(path, text="new", mode="w", **options):
    with whole_file(path, mode, **options) as file:
        file.write(text)


def test_the_old_text_stays_until_the_end(tmp_path):
    path = tmp_path / "table.csv"
    path.write_text("old")
    with whole_file(path) as file:
        file.write("new")
        file.flush()
        assert path.read_text() == "old"
    assert path.read_text() == "new"
    assert os.listdir(tmp_path) == ["table.csv"]


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("error", [OSError("no space left on device"), KeyboardInterrupt(), SystemExit(1)])
def test_an_error_leaves_the_old_file_and_no_other(tmp_path, there, error):
    path = tmp_path / "table.csv"
    if there:
        path.write_text("old")
    with pytest.raises(type(error)), whole_file(path) as file:
        file.write("half")
        raise error
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("table.csv", "old")] * there


@pytest.mark.parametrize("size", [5_000, 500_000])
def test_a_full_disk_leaves_the_old_file(tmp_path, size):
    """The system refuses to write on, as the file is closed (buffered until then) or before."""
    path = tmp_path / "table.csv"
    path.write_text("old")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(OSError):
            write(path, "x" * size)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_text() == "old" and os.listdir(tmp_path) == ["table.csv"]


@pytest.mark.parametrize("umask, expected", [(0o022, 0o644), (0o077, 0o600), (0o002, 0o664)])
def test_a_new_file_gets_what_the_umask_allows(tmp_path, umask, expected):
    before = os.umask(umask)
    try:
        write(tmp_path / "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE((tmp_path / "new").stat().st_mode) == expected


@pytest.mark.parametrize("permissions", [0o600, 0o640, 0o755, 0o444])
def test_an_existing_file_keeps_its_permissions(tmp_path, permissions):
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(permissions)
    with whole_file(path) as file:
        (draft,) = set(tmp_path.iterdir()) - {path}
        assert stat.S_IMODE(draft.stat().st_mode) == permissions  # nobody else reads the draft either
        file.write("new")
    assert stat.S_IMODE(path.stat().st_mode) == permissions and path.read_text() == "new"


@pytest.mark.parametrize("there", [True, False])
def test_a_link_stays_a_link(tmp_path, there):
    for name in ("here", "elsewhere"):
        (tmp_path / name).mkdir()
    link, target = tmp_path / "here" / "link", tmp_path / "elsewhere" / "target"
    link.symlink_to(Path("../elsewhere/target"))
    if there:
        target.write_text("old")
    write(link)
    assert link.is_symlink() and target.read_text() == "new" and not target.is_symlink()
    assert len(list(tmp_path.rglob("*"))) == 4


@pytest.mark.parametrize("name", ["x" * 255, "é" * 127, "a.b.c", ".hidden", "no suffix"])
def test_any_name_that_the_system_takes(tmp_path, name):
    write(tmp_path / name)
    assert (tmp_path / name).read_text() == "new"


def test_the_folder_may_change_while_a_relative_path_is_written(tmp_path, monkeypatch):
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path)
    with whole_file("file") as file:
        file.write("new")
        os.chdir("other")
    assert (tmp_path / "file").read_text() == "new"


def test_options_are_those_of_open(tmp_path):
    write(tmp_path / "text", "é\n", newline="\r\n", encoding="latin-1")
    assert (tmp_path / "text").read_bytes() == b"\xe9\r\n"
    write(tmp_path / "bytes", b"\0", "wb")
    assert (tmp_path / "bytes").read_bytes() == b"\0"


def test_a_pipe_is_written_to(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    read = []
    reader = threading.Thread(target=lambda: read.append((tmp_path / "pipe").read_text()), daemon=True)
    reader.start()
    write(tmp_path / "pipe")
    reader.join()
    assert read == ["new"] and stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)


def test_what_cannot_be_written(tmp_path):
    with pytest.raises(ValueError, match="expected, found 'a'"):
        write(tmp_path / "file", mode="a")
    with pytest.raises(FileNotFoundError, match="an existing folder expected, found no folder .*nowhere"):
        write(tmp_path / "nowhere" / "file")
    with pytest.raises(IsADirectoryError):
        write(tmp_path)
    assert not list(tmp_path.iterdir())


# ------------------------------------------------------------------------------------------- every writer
ROWS = [{"clip": "a", "action": "sit" * 30, "start": 0, "end": 1, "start_seconds": 0.0, "end_seconds": 1.0}] * 30
ROWS = [row | {"start_seconds": 2.0 * i, "end_seconds": 2.0 * i + 1} for i, row in enumerate(ROWS)]


def writers(small):
    model = OrderedActionLabeling(n_iter=2, lam=0.1).fit(small)
    sparse = small.with_features(sp.csr_matrix(small.features))
    return {**{name: lambda path, name=name: write_segments(path, ROWS, name) for name in SUFFIXES},
            "clips": small.save, "sparse clips": sparse.save, "model": model.save,
            "timelines": lambda path: write_timelines(path, ROWS, {"a": 90.0}),
            "sweep": lambda path: experiments._write(path, [ROWS])}


WRITERS = [*SUFFIXES, "clips", "sparse clips", "model", "timelines", "sweep"]


@pytest.fixture
def writer(request, small):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return writers(small)[request.param]


@contextmanager
def full_disk(size=1000):
    """The system refuses to write on behind so many bytes of a file."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


@pytest.mark.parametrize("writer", WRITERS, indirect=True)
@pytest.mark.parametrize("there", [True, False])
def test_no_writer_loses_the_old_file_on_a_full_disk(tmp_path, writer, there):
    path = tmp_path / "file"
    if there:
        path.write_text("old")
    with pytest.raises(OSError, match=re.escape(str(path))), full_disk():
        writer(path)
    assert [(file.name, file.read_text()) for file in tmp_path.iterdir()] == [("file", "old")] * there


@pytest.mark.parametrize("writer", WRITERS, indirect=True)
def test_every_writer_keeps_names_links_and_permissions(tmp_path, writer):
    (tmp_path / "elsewhere").mkdir()
    long, link, target = tmp_path / ("x" * 249), tmp_path / "link", tmp_path / "elsewhere" / "target"
    link.symlink_to(target)
    target.write_text("old")
    target.chmod(0o664)
    before = os.umask(0o027)
    try:
        writer(long)
        writer(link)
    finally:
        os.umask(before)
    assert stat.S_IMODE(long.stat().st_mode) == 0o640
    assert link.is_symlink() and stat.S_IMODE(target.stat().st_mode) == 0o664
    assert target.read_bytes() != b"old" and len(list(tmp_path.rglob("*"))) == 4


# ------------------------------------------------------------------------------------------- reading
@pytest.mark.parametrize("content, message", [(b"", "an empty file"), (b"[1,", "JSON expected, found Expecting"),
                                              (b"\xff\xff", "JSON expected"), (b"[" * 100_000, "JSON expected")])
def test_damaged_json_is_named(tmp_path, content, message):
    path = tmp_path / "sweep.json"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=f"sweep.json: .*{message}"):
        read_json(path)


def test_json_in_a_pipe_does_not_hang(tmp_path):
    os.mkfifo(tmp_path / "a.json")
    with pytest.raises(ValueError, match="a.json: a regular file expected"):
        read_json(tmp_path / "a.json")


def npy(shape, kind="<f4", size=64, descr=None):
    """An array file that declares what its bytes need not hold."""
    header = f"{{'descr': {descr or repr(kind)}, 'fortran_order': False, 'shape': {shape}}}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + bytes(size)


@pytest.mark.parametrize("content", [
    npy("(17,)"), npy("(4294967296, 4294967296)"), npy("(9223372036854775807, 2)"), npy("(True, 16)"), npy("(-1,)"),
    npy("(16, 1.0)"), npy("(1000000000000,)", "<U0"), npy("(1000000000000,)", "V0"), npy("(2,)", "|O"),
    npy("(1,)", descr="('<f4', (1000000000,))"), npy("(1,)", descr="[('a', '<f4')]"), npy("16"),
    npy("(16,)").replace(b"NUMPY\x01", b"NUMPY\x03"), npy("(8,)", "<U2")[:-1] + b"\xff"])
@pytest.mark.parametrize("inside", [False, True])
def test_what_is_no_array_of_the_file_s_size(tmp_path, content, inside):
    path, before = tmp_path / "a", resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    path.write_bytes(content)
    if inside:
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a.npy", content)
    with pytest.raises(ValueError):
        stored_arrays(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 50_000


@pytest.mark.parametrize("method", [zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA])
def test_archives_only_as_numpy_packs_them(tmp_path, method):
    with zipfile.ZipFile(tmp_path / "a.npz", "w", method) as archive:
        archive.writestr("a.npy", npy("(2500000,)", "<f4", 10**7))
    assert (tmp_path / "a.npz").stat().st_size < 5000  # 2,000 times smaller than what is in it
    with pytest.raises(ValueError, match="'a.npy' with 100000"):
        stored_arrays(tmp_path / "a.npz")


def test_arrays_of_numpy(tmp_path):
    np.savez_compressed(tmp_path / "a.npz", a=np.zeros((100, 1000)), b=["x", "yz"], c=np.empty((0, 3)), d=np.array(2j))
    found = stored_arrays(tmp_path / "a.npz")
    assert found["a"].shape == (100, 1000) and found["b"].tolist() == ["x", "yz"] and found["d"] == 2j
    assert list(stored_arrays(tmp_path / "a.npz", ("z", "c", "a"))) == ["c"]
    np.save(tmp_path / "b.npy", np.asfortranarray(np.arange(6, dtype=">i2").reshape(2, 3)))
    assert stored_arrays(tmp_path / "b.npy")[""].tolist() == [[0, 1, 2], [3, 4, 5]]
    for nothing in (b"", b"PK\x05\x06" + bytes(18), b"\x80\x04N."):
        (tmp_path / "c.npz").write_bytes(nothing)
        with pytest.raises(ValueError):
            stored_arrays(tmp_path / "c.npz", ("a",))
