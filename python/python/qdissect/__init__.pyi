from collections.abc import Sequence
from os import PathLike
from typing import Any, Literal, Protocol

TableName = Literal["messages", "exchanges", "findings", "servers", "captures"]

TABLES: list[str]
__version__: str

class Stream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...
    def __len__(self) -> int: ...

class Schema(Protocol):
    def __arrow_c_schema__(self) -> object: ...

def read(
    paths: Sequence[str | PathLike[str]],
    table: TableName,
    *,
    fields: bool = False,
    display_filter: str | None = None,
    protocols: Sequence[str] | None = None,
    mode: Literal["permissive", "failfast"] = "permissive",
) -> Stream: ...
def schema(table: TableName) -> Schema: ...
def dissect(payload: bytes, *, protocol: str | None = None, response: bool = False) -> dict[str, Any]: ...
def key(uri: str) -> int: ...
