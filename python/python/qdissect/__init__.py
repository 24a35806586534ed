"""Captures of game-server query protocols as Arrow tables.

>>> import qdissect
>>> qdissect.TABLES
['messages', 'exchanges', 'findings', 'servers', 'captures']
"""

from ._qdissect import TABLES, __version__, dissect, key, read, schema

__all__ = ["TABLES", "__version__", "dissect", "key", "read", "schema"]
