"""Packs a folder so that the same files give the same bytes, on every system: archive.py [--bare] FOLDER ARCHIVE

The archive is a .zip, a .tar.gz or a .tar; with --bare it has the files of the folder without the folder's name.
"""

import gzip
import os
import sys
import tarfile
import zipfile
from pathlib import Path

bare = sys.argv[1] == "--bare"
folder, archive = Path(sys.argv[-2]), sys.argv[-1]
epoch = int(os.environ["SOURCE_DATE_EPOCH"])
base = folder if bare else folder.parent


def entries():
    """Each file with its name in the archive, and its rights."""
    for path in sorted(path for path in folder.rglob("*") if path.is_file()):
        runs = path.name in ("qdissect", "qdissect.exe")
        yield path, path.relative_to(base).as_posix(), 0o755 if runs else 0o644


def pack_tar(out):
    with tarfile.open(fileobj=out, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for path, name, mode in entries():
            entry = tarfile.TarInfo(name)
            entry.size, entry.mode, entry.mtime = path.stat().st_size, mode, epoch
            with path.open("rb") as content:
                tar.addfile(entry, content)


def pack_zip(out):
    import time

    when = time.gmtime(epoch)[:6]
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
        for path, name, mode in entries():
            entry = zipfile.ZipInfo(name, when)
            entry.compress_type, entry.create_system, entry.external_attr = zipfile.ZIP_DEFLATED, 3, (0o100000 | mode) << 16
            packed.writestr(entry, path.read_bytes())


with open(archive, "wb") as out:
    if archive.endswith(".zip"):
        pack_zip(out)
    elif archive.endswith(".gz"):
        with gzip.GzipFile(filename="", mode="wb", compresslevel=9, fileobj=out, mtime=epoch) as compressed:
            pack_tar(compressed)
    else:
        pack_tar(out)
