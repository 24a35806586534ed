"""Captures of game-server query protocols as Arrow tables.

>>> import qdissect
>>> qdissect.TABLES
['messages', 'exchanges', 'findings', 'servers', 'captures']
"""

from ._qdissect import (
    TABLES,
    __version__,
    deal,
    dissect,
    frames,
    frames_schema,
    judge,
    key,
    read,
    scan,
    schema,
    stream,
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
