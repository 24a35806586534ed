from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, Protocol, TypedDict

TableName = Literal["messages", "exchanges", "findings", "servers", "captures"]
Pair = tuple[str, str]
Paths = str | PathLike[str] | Iterable[str | PathLike[str]]

TABLES: list[str]
__version__: str

class Stream(Protocol):
    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...

class Batch(Protocol):
    num_rows: int
    def __arrow_c_array__(self, requested_schema: object | None = None) -> tuple[object, object]: ...

class Batches(Stream, Protocol):
    def __iter__(self) -> Iterator[Batch]: ...

class Table(Stream, Protocol):
    def __len__(self) -> int: ...

class Schema(Protocol):
    def __arrow_c_schema__(self) -> object: ...

class Scan(TypedDict):
    frames: int
    asked: list[Pair]
    around: list[Pair]

def read(
    paths: Paths,
    table: TableName,
    *,
    fields: bool = False,
    display_filter: str | None = None,
    protocols: Sequence[str] | None = None,
    mode: Literal["permissive", "failfast"] = "permissive",
    sensor: str | None = None,
) -> Table: ...
def stream(
    paths: Paths,
    table: TableName,
    *,
    fields: bool = False,
    display_filter: str | None = None,
    protocols: Sequence[str] | None = None,
    mode: Literal["permissive", "failfast"] = "permissive",
    sensor: str | None = None,
) -> Batches: ...
def schema(table: TableName) -> Schema: ...
def dissect(payload: bytes | bytearray | memoryview, *, protocol: str | None = None, response: bool = False) -> dict[str, Any]: ...
def key(uri: str) -> int: ...
def scan(path: str | PathLike[str], *, protocols: Sequence[str] | None = None) -> Scan: ...
def deal(asked: Sequence[Pair], around: Sequence[Pair], shards: int) -> dict[str, int]: ...
def frames(path: str | PathLike[str], hosts: Mapping[str, int], shards: int, *, before: int = 0) -> Stream: ...
def frames_schema() -> Schema: ...
def judge(
    frames: Stream,
    table: TableName,
    *,
    fields: bool = False,
    display_filter: str | None = None,
    protocols: Sequence[str] | None = None,
) -> Table: ...
