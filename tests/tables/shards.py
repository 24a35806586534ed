"""Through the package: shards give the same tables as one run, and damaged captures end neither the run nor the interpreter.

    python tests/tables/shards.py [MUTATED]
"""

import collections
import pathlib
import random
import sys
import tempfile

import pyarrow
import pyarrow.compute

import qdissect

OF_RUN = {"id"}  # numbers that count through a run
# What only a single run can tell.
ONE_DIRECTION = "; the capture holds no answer of anybody: one direction may be missing"
# A host answers what another one was asked, or addresses are translated: such hosts share no shard.
OF_TWO_HOSTS = {"other_address.pcapng", "translated.pcapng"}


def rows(table):
    """Counts how often each row is in a table."""
    table = pyarrow.table(table)
    table = table.drop_columns([name for name in table.column_names if name in OF_RUN])
    return collections.Counter(repr(row).replace(ONE_DIRECTION, "") for row in table.to_pylist())


def in_shards(paths, shards):
    """The five tables of captures, judged in shards."""
    scans = [qdissect.scan(path) for path in paths]
    asked = [pair for scan in scans for pair in scan["asked"]]
    around = [pair for scan in scans for pair in scan["around"]]
    hosts = qdissect.deal(asked, around, shards)
    before, dealt = 0, []
    for path, scan in zip(paths, scans):
        dealt.append(pyarrow.table(qdissect.frames(path, hosts, shards, before=before)))
        before += scan["frames"]
    frames = pyarrow.concat_tables(dealt) if dealt else pyarrow.schema(qdissect.frames_schema()).empty_table()
    frames = frames.sort_by([("file", "ascending"), ("frame", "ascending"), ("kind", "ascending")])
    found = {name: collections.Counter() for name in qdissect.TABLES}
    recognised = collections.Counter()
    for shard in range(shards):
        shard_frames = frames.filter(pyarrow.compute.equal(frames["shard"], shard))
        for name in qdissect.TABLES[:-1]:
            table = pyarrow.table(qdissect.judge(shard_frames, name))
            found[name] += rows(table)
            if name == "messages":
                recognised.update(table["file_id"].to_pylist())
    found["captures"] = captures(paths, recognised)
    return found


def captures(paths, recognised):
    """The rows of captures: each capture is read separately, and gets the number of messages that the shards found."""
    table = [pyarrow.table(qdissect.read([path], "captures")).to_pylist()[0] for path in paths]
    table.sort(key=lambda row: row["format"] is None)  # those that cannot be opened come last
    with_counts = (row | {"seq": seq, "recognised": recognised[row["file_id"]]} for seq, row in enumerate(table))
    return collections.Counter(map(repr, with_counts))


def check_shards(paths, what):
    """Compares the tables of shards with those of one run."""
    one = {name: rows(qdissect.read(paths, name)) for name in qdissect.TABLES}
    for shards in (1, 4, 16):
        many = in_shards(paths, shards)
        for name in qdissect.TABLES:
            differ = list((one[name] - many[name]).items())[:2], list((many[name] - one[name]).items())[:2]
            assert differ == ([], []), f"{what}, {shards} shards, {name}: {differ}"


def mutated(paths, how_many):
    """Reads captures with bytes changed, removed and inserted: each must give consistent tables."""
    dice = random.Random(7)
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "mutated.pcap")
        for _ in range(how_many):
            data = bytearray(dice.choice(paths).read_bytes())
            for _ in range(dice.randrange(1, 20)):
                at = dice.randrange(len(data) + 1)
                match dice.randrange(4):
                    case 0:
                        data[at:] = b""
                    case 1:
                        data[at:at] = dice.randbytes(dice.randrange(1, 40))
                    case _:
                        data[at : at + 1] = dice.randbytes(1)
            path.write_bytes(data)
            (row,) = pyarrow.table(qdissect.read([path], "captures")).to_pylist()
            assert row["complete"] == (row["error"] is None)
            messages = pyarrow.table(qdissect.read([path], "messages", fields=True))
            assert messages.num_rows == row["recognised"], (messages.num_rows, row)
            hosts = qdissect.scan(path)["asked"]
            frames = qdissect.frames(path, qdissect.deal(hosts, [], 2), 2)
            assert pyarrow.table(frames).num_rows >= 0


if __name__ == "__main__":
    root = pathlib.Path("captures")
    everything = sorted(path for path in root.rglob("*.pcap*") if path.is_file() and path.name not in OF_TWO_HOSTS)
    assert len(everything) > 100
    for path in everything:
        check_shards([path], path)
    check_shards(everything, "all captures")
    small = [path for path in everything if path.stat().st_size < 200_000]
    mutated(small, int(sys.argv[1]) if len(sys.argv) > 1 else 1_000)
    print(f"{len(everything)} captures hold in 1, 4 and 16 shards")
