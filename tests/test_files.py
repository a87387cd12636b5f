"""Files that appear whole or not at all, whatever happens while they are written."""

import os
import resource
import stat
import threading
from pathlib import Path

import pytest

from ordering._files import whole_file


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
