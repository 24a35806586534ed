"""Captures on Spark, in two ways that find what one run finds.

A task for each sensor reads its files in order:

    spark.dataSource.register(qdissect.spark.Captures)
    spark.read.format("qdissect").option("table", "exchanges").load("/captures")

A shuffle by the host of the server judges one sensor's files on all cores:

    qdissect.spark.Sharded(spark, paths, shards=64).table("exchanges")
"""

import itertools
import pathlib
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import pyarrow
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F
from pyspark.sql.datasource import DataSource, DataSourceReader, InputPartition
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType

import qdissect
from qdissect import _qdissect

__all__ = ["Captures", "Sharded"]

# A directory holds the captures of a sensor.
SENSOR = r"(?:.*/)?([^/]+)/[^/]*$"
PATTERN = r".*\.(pcap|pcapng|cap)(\.\w+)?$"

# The columns of a scan: a row for the file, and one for each pair of hosts.
SCANNED = pyarrow.schema(
    [
        pyarrow.field("seq", pyarrow.int32(), nullable=False),
        pyarrow.field("frames", pyarrow.int64(), nullable=False),
        ("server", pyarrow.string()),
        ("other", pyarrow.string()),
        pyarrow.field("around", pyarrow.bool_(), nullable=False),
    ]
)

# Maximum number of tasks for each core.
TASKS = 8


def plain(schema: pyarrow.Schema) -> pyarrow.Schema:
    """The columns as Spark has them: it knows no dictionaries."""
    def kind(of: pyarrow.DataType) -> pyarrow.DataType:
        return of.value_type if pyarrow.types.is_dictionary(of) else of

    return pyarrow.schema([pyarrow.field(field.name, kind(field.type), field.nullable) for field in schema])


def columns(table: str) -> pyarrow.Schema:
    return plain(pyarrow.schema(qdissect.schema(table)))


def batches(stream: object, schema: pyarrow.Schema) -> Iterator[pyarrow.RecordBatch]:
    for batch in pyarrow.RecordBatchReader.from_stream(stream):
        yield batch.cast(schema)


@dataclass
class Sensor(InputPartition):
    """Captures of one sensor, in order."""

    name: str
    paths: list[str]


class Captures(DataSource):
    """The format "qdissect": a table of all captures below a directory, a task for each sensor.

    Options: table; sensor, a regular expression whose first group is the name of a path's sensor (its directory); pattern, one
    for the paths that count; fields, display_filter, protocols (separated by commas) and mode as of qdissect.read.
    """

    @classmethod
    def name(cls) -> str:
        return "qdissect"

    def schema(self) -> StructType:
        return from_arrow_schema(columns(self.options.get("table", "exchanges")))

    def reader(self, schema: StructType) -> DataSourceReader:
        return Reader(self.options)


class Reader(DataSourceReader):
    def __init__(self, options: dict[str, str]) -> None:
        path = options.get("path")
        if path is None:
            raise ValueError("Name the directory of the captures: load(DIRECTORY).")
        self.root = pathlib.Path(path.removeprefix("file://"))
        self.table = options.get("table", "exchanges")
        self.sensor = re.compile(options.get("sensor", SENSOR))
        self.pattern = re.compile(options.get("pattern", PATTERN))
        protocols = options.get("protocols")
        self.keywords = {
            "fields": options.get("fields", "false").lower() == "true",
            "display_filter": options.get("display_filter"),
            "protocols": protocols.split(",") if protocols else None,
            "mode": options.get("mode", "permissive"),
        }

    def partitions(self) -> Sequence[InputPartition]:
        """Sensors in the order of their names, each with its captures in the order of theirs."""
        if not self.root.exists():
            raise FileNotFoundError(f"There is no {self.root}: load a directory that every executor has.")
        sensors: dict[str, list[str]] = {}
        paths = [self.root] if self.root.is_file() else sorted(self.root.rglob("*"))
        for path in map(str, filter(pathlib.Path.is_file, paths)):
            found = self.sensor.match(path)
            if self.pattern.match(path) and found:
                sensors.setdefault(found.group(1), []).append(path)
        return [Sensor(name, captures) for name, captures in sorted(sensors.items())]

    def read(self, partition: InputPartition) -> Iterator[pyarrow.RecordBatch]:
        assert isinstance(partition, Sensor)
        stream = _qdissect.stream(partition.paths, self.table, sensor=partition.name, **self.keywords)
        return batches(stream, columns(self.table))


class Sharded:
    """Captures that are one run, in their order, dealt among shards by the host of the server.

    The files are scanned at once, on the executors. `frames` may be persisted where several tables are wanted.
    """

    def __init__(
        self, spark: SparkSession, paths: Sequence[str], *, shards: int, protocols: Sequence[str] | None = None
    ) -> None:
        self.spark, self.protocols = spark, protocols
        self.files = list(enumerate(map(str, paths)))
        frames, hosts = self._scan(shards)
        before = itertools.accumulate((frames.get(seq, 0) for seq, _ in self.files), initial=0)
        schema = plain(pyarrow.schema(qdissect.frames_schema()))

        def deal(received: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            for file in files(received):
                yield from batches(qdissect.frames(file["path"], hosts, shards, before=file["before"]), schema)

        starts = [(path, start) for (_, path), start in zip(self.files, before)]
        self.frames = (
            each(spark, starts, "path string, before long")
            .mapInArrow(deal, from_arrow_schema(schema))
            .repartitionById(shards, F.col("shard"))
            .sortWithinPartitions("file", "frame", "kind")
        )

    def _scan(self, shards: int) -> tuple[dict[int, int], dict[str, int]]:
        """How many frames each file has, and which shard has the frames of each host."""
        protocols = self.protocols

        def scan(received: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            for file in files(received):
                found = qdissect.scan(file["path"], protocols=protocols)
                rows = [(file["seq"], found["frames"], None, None, False)]
                rows += [(file["seq"], 0, *pair, False) for pair in found["asked"]]
                rows += [(file["seq"], 0, *pair, True) for pair in found["around"]]
                columns = [pyarrow.array(column, field.type) for column, field in zip(zip(*rows), SCANNED)]
                yield pyarrow.RecordBatch.from_arrays(columns, schema=SCANNED)

        found = each(self.spark, self.files, "seq int, path string").mapInArrow(scan, from_arrow_schema(SCANNED))
        found = found.cache()
        frames = {row.seq: row.frames for row in found.where("server is null").collect()}
        pairs = found.where("server is not null").select("server", "other", "around").distinct().collect()
        found.unpersist()
        asked, around = ([(p.server, p.other) for p in pairs if p.around == kind] for kind in (False, True))
        return frames, qdissect.deal(asked, around, shards)

    def table(self, table: str, *, fields: bool = False) -> DataFrame:
        """A table of the run. The numbers `id` of exchanges count through a shard."""
        if table == "captures":
            return self._captures()
        frame_schema, row_schema, protocols = plain(pyarrow.schema(qdissect.frames_schema())), columns(table), self.protocols

        def judge(received: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            rows = pyarrow.RecordBatchReader.from_batches(frame_schema, (batch.cast(frame_schema) for batch in received))
            yield from batches(qdissect.judge(rows, table, fields=fields, protocols=protocols), row_schema)

        return self.frames.mapInArrow(judge, from_arrow_schema(row_schema))

    def _captures(self) -> DataFrame:
        """Each capture is read for itself, and its messages are those of the run."""
        schema, protocols = columns("captures"), self.protocols

        def read(received: Iterable[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
            for file in files(received):
                table = pyarrow.table(_qdissect.read([file["path"]], "captures", protocols=protocols)).cast(schema)
                at = schema.get_field_index("seq")
                seq = pyarrow.array([file["seq"]] * len(table), schema.field(at).type)
                yield from table.set_column(at, schema.field(at), seq).to_batches()

        found = each(self.spark, self.files, "seq int, path string").mapInArrow(read, from_arrow_schema(schema))
        message_counts = self.table("messages").groupBy("file_id").agg(F.count("*").alias("of_run"))
        # Captures that cannot be opened come last.
        order = Window.orderBy(F.col("format").isNull(), "seq")
        joined = found.withColumn("seq", (F.row_number().over(order) - 1).cast("long")).join(message_counts, "file_id", "left")
        recognised = F.coalesce(F.col("of_run"), F.lit(0))
        return joined.withColumn("recognised", recognised).select(*schema.names)


def files(received: Iterable[pyarrow.RecordBatch]) -> Iterator[dict]:
    """Yields the rows of batches as dictionaries."""
    for batch in received:
        yield from batch.to_pylist()


def each(spark: SparkSession, rows: list[tuple], schema: str) -> DataFrame:
    """Distributes rows to tasks: one for each row, up to TASKS for each core."""
    limit = TASKS * spark.sparkContext.defaultParallelism
    return spark.createDataFrame(rows, schema).repartition(max(1, min(len(rows), limit)))
