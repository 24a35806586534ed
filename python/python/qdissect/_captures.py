"""Finds the captures that names, folders and patterns stand for, as the program does."""

import errno
import glob
import os
import re
from collections.abc import Iterable, Iterator

# A capture in a folder, by its name: a.pcap, a.pcap12, a.pcap.1, a.pcapng.gz.
CAPTURE = re.compile(r"[^.].*\.(pcapng|pcap|cap|dmp|ntar)[0-9]*(\.[0-9]+)?(\.(gz|zst|zstd|lz4|xz|bz2))?", re.IGNORECASE | re.DOTALL)


def find(paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]]) -> list[str]:
    """The files of all paths, each once: those of a folder and of a pattern in the order of their names."""
    named = [paths] if isinstance(paths, (str, os.PathLike)) else paths
    return list({os.path.realpath(file): file for path in named for file in _files(os.fspath(path))}.values())


def _files(path: str) -> Iterable[str]:
    if os.path.isdir(path):
        return _in_folder(path)
    if os.path.exists(path):
        return [path]
    matches = sorted(glob.glob(path, recursive=True))
    if not matches:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), path)
    return [file for match in matches for file in (_in_folder(match) if os.path.isdir(match) else [match])]


def _in_folder(folder: str) -> list[str]:
    found = [file for file in _walk(folder, set()) if os.path.isfile(file)]
    if not found:
        raise FileNotFoundError(errno.ENOENT, "There is no capture in the folder", folder)
    return found


def _walk(folder: str, above: set[str]) -> Iterator[str]:
    """The captures in a folder and below it; a link to a folder above is left out."""
    real = os.path.realpath(folder)
    if real in above:
        return
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if os.path.isdir(path):
            yield from _walk(path, above | {real})
        elif CAPTURE.fullmatch(name):
            yield path
