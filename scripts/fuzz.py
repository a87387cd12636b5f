"""Damaged files by the thousand: every loader gives what is in the file, or one error that names it.

    python scripts/fuzz.py --minutes 5 --keep FOLDER

Good files of every kind are changed by flips, cuts, splices and odd numbers, archives inside as well. Each file is
read in a process of its own. What kills or hangs it, takes far more memory than the file has bytes, or raises
something else than a ValueError or OSError with the file's name is a finding, and kept.
"""

import argparse
import csv
import io
import json
import os
import random
import resource
import signal
import struct
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from itertools import takewhile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import scipy.sparse as sp
from scipy.io import savemat

from ordering import Clips, OrderedActionLabeling
from ordering.datasets import _matlab, from_table, load_segmentation_folder, load_willow, read_segments, write_segments

NAME = "clip7"  # of a clip and its files; messages have to contain it, or the changed file's name
SECONDS, MEGABYTES, RATIO = 40, 40, 40  # what an input may take: time, and this memory beside its size times the ratio
NUMBERS = [0, 1, 2, -1, 127, 255, 2**15, 2**31 - 1, 2**31, 2**32 - 1, 2**53, 2**63 - 1, -(2**63), 10**18]
WORDS = [b"nan", b"-inf", b"1e999", b"-1", b"0", b"", b"True", b"None", b"\0", b"\r", b"\n\n", b'"', b",", b"'", b"(",
         b"\xef\xbb\xbf", b"\xff", b"9" * 400, b"7" * 30, b"x" * 5000, b"<f8", b"|O", b"<U0", b"<U99999"]


# ------------------------------------------------------------------------------------------------- changed files
def changed(data, others, rng):
    """The same bytes, damaged in one to eight places; an archive as a whole or in one of its members."""
    if data[:2] == b"PK" and rng.random() < 0.7:
        return _changed_archive(data, others, rng)
    for _ in range(rng.choice([1, 1, 1, 2, 4, 8])):
        end = min(len(data), rng.choice([150, 1000, len(data)]))
        at = rng.randint(0, end)
        size = rng.choice([1, 2, 8, 100, max(1, len(data) // 4)])
        data = rng.choice([_bit, _number, _word, _cut, _without, _twice, _spliced])(data, at, size, others, rng)
    return data


def _bit(data, at, size, others, rng):
    return data[:at] + bytes(byte ^ 1 << rng.randint(0, 7) for byte in data[at:at + 1]) + data[at + 1:]


def _number(data, at, size, others, rng):
    """An odd number in one to eight bytes, mostly where numbers of that size begin."""
    width = rng.choice([1, 2, 4, 8])
    at -= at % width if rng.random() < 0.7 else 0
    packed = struct.pack("<q", rng.choice(NUMBERS) if rng.random() < 0.8 else rng.randint(0, 300))
    return data[:at] + packed[:width] + data[at + width:]


def _word(data, at, size, others, rng):
    """A word in place of the next run of digits, or just there."""
    start = next((i for i in range(at, min(at + 40, len(data))) if data[i:i + 1].isdigit()), at)
    stop = next((i for i in range(start, len(data)) if not data[i:i + 1].isdigit()), len(data))
    return data[:start] + rng.choice([*WORDS, b"%d" % rng.choice(NUMBERS)]) + data[stop:]


def _cut(data, at, size, others, rng):
    return data[:at] if rng.random() < 0.5 else data[:len(data) - size]


def _without(data, at, size, others, rng):
    return data[:at] + data[at + size:]


def _twice(data, at, size, others, rng):
    return data[:at + size] + data[at:]


def _spliced(data, at, size, others, rng):
    other = rng.choice(others)
    start = rng.randint(0, len(other))
    return data[:at] + other[start:start + size] + data[at + size * rng.randint(0, 1):]


def _changed_archive(data, others, rng):
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    name, odd = rng.choice(list(members)), rng.random()
    if odd < 0.05:
        del members[name]
    elif odd < 0.1:
        members[name] = rng.choice(list(members.values()))
    else:
        members[name] = changed(members[name], list(members.values()), rng)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", rng.choice([zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED])) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return target.getvalue()


# ---------------------------------------------------------------------------------------------------- good files
def targets(root):
    """For each kind of file: the path that is changed, good contents, and what reads it."""
    rng = np.random.default_rng(0)
    truth = np.repeat([2, 0, 2, 1, 2], [6, 12, 4, 14, 4])
    X = (np.eye(3)[truth] @ rng.standard_normal((3, 5)) + 0.1 * rng.standard_normal((40, 5))).astype(np.float32)
    clips = Clips.from_list([X, X[:36]], [[0, 1]] * 2, 2, "optional", [truth, truth[:36]], ["pour", "stir"],
                            [NAME, "b"])
    return {**_folders(root, X, truth), **_mats(root, X, truth), **_segments(root), **_archives(root, clips),
            "table": (root / "table.csv", [_table_text(X, truth)], _read_table)}


def _folders(root, X, truth):
    """A folder of its own for each file that is changed, with good files beside it."""
    names = np.array(["pour", "stir", "idle"])

    def lines(*values):
        return "".join(f"{value}\n" for value in values).encode()

    good = {"features/.npy": [_bytes(np.save, X.T), _bytes(np.save, np.asfortranarray(X.T.astype(">f8")))],
            "groundTruth/.txt": [lines(*names[truth]), lines(*truth), lines("6 18 pour", "22 36 stir"),
                                 lines("start,end,label", "0.6,1.8,pour", "2.2,3.6,stir")],
            "transcripts/.txt": [lines("pour", "stir"), lines("2", "0", "2", "1"), lines("1 5 pour", "5 7 stir")],
            "mapping.txt": [lines("0 pour", "1 stir", "2 idle"), lines("2\tidle", "0\tpour", "1\tstir")],
            "splits/split.txt": [lines(NAME), lines("#bundle", f"./data/{NAME}.txt")]}
    others = {"features/.npz": [_bytes(np.savez, X=X.T), _bytes(np.savez_compressed, X.T)],
              "features/.csv": [lines(*(",".join(map(str, row)) for row in X)),
                                lines("a;b;c;d;e", *(";".join(map(str, row)) for row in X))],
              "groundTruth/.npy": [_bytes(np.save, values) for values in (truth, names[truth], truth * 1.0)]}
    found = {}
    for n, (kind, contents) in enumerate({**good, **others}.items()):
        folder = root / f"folder{n}"
        (folder / kind).parent.mkdir(parents=True)
        for path, (content, *_) in good.items():
            if path == kind or path.split("/")[0] != kind.split("/")[0]:
                made = folder / path.replace("/.", f"/{NAME}.")
                made.parent.mkdir(parents=True, exist_ok=True)
                made.write_bytes(content)
        found[kind] = folder / kind.replace("/.", f"/{NAME}."), contents, lambda path, folder=folder: (
            load_segmentation_folder(folder, "split.txt", "idle", "optional", frames=2, window=4, fps=10.0))
    return found


def _mats(root, X, truth):
    def cell(*values):
        made = np.empty((len(values), 1), object)
        made[:, 0] = values
        return made

    good = {"X": cell(X, X[:36]), "Y": cell(np.eye(3)[truth], np.eye(3)[truth[:36]]), "annot": cell([[1, 2]], [[1, 2]])}
    sparse = {**good, "Y": cell(sp.csc_matrix(good["Y"][0, 0]), sp.csc_matrix(good["Y"][1, 0]))}
    contents = [_bytes(savemat, good), _bytes(savemat, good, do_compression=True), _bytes(savemat, sparse)]
    return {"mat5": (root / f"{NAME}.5.mat", contents, load_willow),
            "mat7.3": (root / f"{NAME}.73.mat", [_hdf5(good), _hdf5(sparse)], load_willow)}


def _hdf5(variables):
    """A file as MATLAB 7.3 writes it: axes reversed, cells as references, matrices of one class sparse."""
    import h5py

    target = io.BytesIO()
    with h5py.File(target, "w", userblock_size=512) as file:
        for name, cell in variables.items():
            references = []
            for i, value in enumerate(cell.ravel()):
                if sp.issparse(value):
                    group = file.create_group(f"#refs#/{name}{i}")
                    group.attrs["MATLAB_sparse"] = np.uint64(value.shape[0])
                    for part, array in (("data", value.data), ("ir", value.indices), ("jc", value.indptr)):
                        group.create_dataset(part, data=array)
                    references.append(group.ref)
                else:
                    options = {"chunks": True, "compression": "gzip"} if name == "X" else {}
                    references.append(file.create_dataset(f"#refs#/{name}{i}", data=np.array(value).T, **options).ref)
            stored = file.create_dataset(name, (1, len(references)), h5py.ref_dtype)
            stored[0], stored.attrs["MATLAB_class"] = references, np.bytes_("cell")
    return target.getvalue()


def _segments(root):
    rows = [{"clip": NAME, "action": action, "start": start, "end": start + 9, "start_seconds": start / 10,
             "end_seconds": start / 10 + 0.9} for action, start in (("pour", 3), ("stir", 13), ("pour & stir", 25))]
    made = {}
    for format, name in (("csv", "a.csv"), ("vtt", "a.vtt"), ("elan", "elan.txt"), ("audacity", "a.txt"),
                         ("textgrid", "a.TextGrid"), ("boris", "a.tsv")):
        path = root / f"{NAME}.{name}"
        write_segments(path, rows, format)
        made[format] = (path, [path.read_bytes()], lambda path, format=format: read_segments(path, format))
    return made


def _archives(root, clips):
    contents = {}
    for name, X in (("dense", clips.features), ("sparse", np.where(clips.features > 1, clips.features, 0))):
        clips.with_features(sp.csr_matrix(X) if name == "sparse" else X).save(root / f"{name}.npz")
        contents[name] = (root / f"{name}.npz").read_bytes()
    models = []
    for model in (OrderedActionLabeling(n_iter=3, lam=0.1), OrderedActionLabeling.recommended()):
        model.fit(clips).save(root / "model.npz", {"action_names": clips.action_names})
        models.append((root / "model.npz").read_bytes())
    return {"clips": (root / f"{NAME}.clips.npz", list(contents.values()), Clips.load),
            "model": (root / f"{NAME}.model.npz", models,
                      lambda path: OrderedActionLabeling.load(path).predict(clips) is None)}


def _table_text(X, truth):
    names = ["pour", "stir", ""]
    rows = [[NAME if t < 25 else "b", names[label] or "idle", *map(str, row)] for t, (label, row) in
            enumerate(zip(truth, X, strict=True))]
    return "".join(",".join(row) + "\n" for row in [["clip", "what", *"uvwxy"], *rows]).encode()


def _read_table(path):
    lines = list(csv.reader(io.StringIO(path.read_text(encoding="latin-1"), newline="")))
    columns = dict(zip(lines[0], map(list, zip(*lines[1:], strict=False)), strict=False)) if lines else {}
    try:
        from_table(columns, action="what", background_name="idle")
    except ValueError as error:
        raise ValueError(f"{path.name}: {error}") from error  # a table has no name of its own


def _bytes(save, *args, **options):
    target = io.BytesIO()
    save(target, *args, **options)
    return target.getvalue()


# ------------------------------------------------------------------------------------------------ one input
class Forked:
    """In place of the child process that reads MAT files: the same code in a fork, which starts 50 times faster."""

    def __init__(self, command, **_):
        read, write = os.pipe()
        self.pid, self.stdout = os.fork(), os.fdopen(read, "rb")
        if self.pid == 0:
            sys.stdout = os.fdopen(write, "w")
            try:
                _matlab._main(*map(str, command[3:]))
                sys.stdout.flush()
            finally:
                os._exit(0)
        os.close(write)

    def __enter__(self):
        return self

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)

    def __exit__(self, *_):
        self.stdout.close()
        os.waitpid(self.pid, 0)


def outcome(read, path):
    """What reading a file comes to: "read", "refused", or a finding."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            read(path)
        return "read", ""
    except (ValueError, OSError) as error:
        named = any(name in str(error) for name in (path.name, NAME))
        return ("refused", "") if named else ("no name", f"{type(error).__name__}: {error}")
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        return type(error).__name__, f"{error} at {[f'{frame.name}:{frame.lineno}' for frame in frames[-4:]]}"


def run(read, path):
    """The outcome of a process, what it says of it, its seconds of computing and its peak of memory in megabytes."""
    source, target = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(source)
        signal.alarm(SECONDS)
        try:
            found = outcome(read, path)
            peak = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
            os.write(target, json.dumps([*found, peak / 1024])[:4000].encode())
        finally:
            os._exit(0)
    os.close(target)
    with os.fdopen(source, "rb") as pipe:
        said = pipe.read()
    _, status, used = os.wait4(pid, 0)
    if not said:
        said = json.dumps(["hang" if status == signal.SIGALRM else "crash", f"status {status}", 0.0])
    kind, text, peak = json.loads(said)
    return kind, text, used.ru_utime + used.ru_stime, peak


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=1.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", help="kinds of files, such as mat5 or clips")
    parser.add_argument("--keep", type=Path, help="folder for findings and the slowest input of each kind")
    args = parser.parse_args()
    _matlab.subprocess = SimpleNamespace(Popen=Forked, PIPE=None, DEVNULL=None)
    with tempfile.TemporaryDirectory() as folder:
        good = {name: one for name, one in targets(Path(folder)).items() if not args.only or name in args.only}
        table = fuzz(good, random.Random(args.seed), args.minutes * 60, args.keep)
    print(f"{'kind':24}{'inputs':>8}{'read':>8}{'refused':>8}{'other':>6}{'slowest':>9}{'memory':>8}  (s, MB)")
    for name, (counts, slowest, peak) in table.items():
        n, read, refused = counts.total(), counts["read"], counts["refused"]
        print(f"{name:24}{n:8}{read:8}{refused:8}{n - read - refused:6}{slowest:9.2f}{peak:8.0f}")
    sys.exit(any(set(counts) - {"read", "refused"} for counts, *_ in table.values()))


def fuzz(good, rng, seconds, keep=None, rounds=sys.maxsize):
    """Counts of outcomes, slowest time and largest memory of each kind; the kinds take turns."""
    table, end, seen = {name: [Counter(), 0.0, 0.0] for name in good}, time.monotonic() + seconds, Counter()
    base = {}
    for name, (path, contents, read) in good.items():
        for content in contents:
            path.write_bytes(content)
            kind, text, _, peak = run(read, path)
            assert kind == "read", (name, kind, text)
            base[name] = max(base.get(name, 0), peak)
    for _ in takewhile(lambda _: time.monotonic() < end, range(rounds)):
        for name, (path, contents, read) in good.items():
            data = changed(rng.choice(contents), contents, rng)
            path.write_bytes(data)
            kind, text, took, peak = run(read, path)
            more = max(0, peak - base[name])
            if kind in ("read", "refused") and more > MEGABYTES + RATIO * len(data) / 1e6:
                kind, text = "memory", f"{more:.0f} MB for {len(data)} bytes"
            table[name][0][kind] += 1
            is_slowest = took > table[name][1]
            table[name][1:] = max(took, table[name][1]), max(more, table[name][2])
            new = kind not in ("read", "refused")
            seen[name, kind, text[-60:]] += new
            if new and seen[name, kind, text[-60:]] <= 2:
                print(f"{name}: {kind}: {text[:400]}", flush=True)
            if keep and (is_slowest or new and seen[name, kind, text[-60:]] <= 2):
                keep.mkdir(parents=True, exist_ok=True)
                label = f"{kind}{sum(seen.values())}" if new else "slowest"
                (keep / f"{name.replace('/', '_')}-{label}{path.suffix}").write_bytes(data)
    return table


if __name__ == "__main__":
    main()
