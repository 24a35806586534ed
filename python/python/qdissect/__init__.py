"""Captures of game-server query protocols as Arrow tables.

>>> import qdissect
>>> qdissect.TABLES
['messages', 'exchanges', 'findings', 'servers', 'captures']
"""

from . import _qdissect
from ._captures import find as _find
from ._qdissect import (
    TABLES,
    __version__,
    deal,
    dissect,
    frames,
    frames_schema,
    judge,
    key,
    scan,
    schema,
)

__all__ = [
    "TABLES",
    "__version__",
    "deal",
    "dissect",
    "frames",
    "frames_schema",
    "judge",
    "key",
    "read",
    "scan",
    "schema",
    "stream",
]


def read(paths, table, **keywords):
    return _qdissect.read(_find(paths), table, **keywords)


def stream(paths, table, **keywords):
    return _qdissect.stream(_find(paths), table, **keywords)


read.__doc__ = _qdissect.read.__doc__
stream.__doc__ = _qdissect.stream.__doc__
