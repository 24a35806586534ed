"""Through Spark: shards on executors give the same tables as one run, even if an executor is killed.

    python tests/tables/cluster.py MASTER [PROGRAM]

MASTER is `local-cluster[2,1,1024]`, for example, or the address of a standalone one. With PROGRAM, which is qdissect
with the feature parquet, the files that it writes are read, too. `.ci/cluster` installs what this needs.
"""

import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

import pyarrow
import pyarrow.parquet
from pyspark.sql import SparkSession, functions

import qdissect
import qdissect.spark

SECOND = 10**9
# Captures in which a host answers what another one was asked, or addresses are translated: such hosts share no shard. As in
# `tests/it/shards.rs`.
OF_TWO_HOSTS = {"other_address.pcapng", "translated.pcapng"}
# The end of a message that only one run can tell.
OF_ONE_RUN = "; the capture holds no answer of anybody: one direction may be missing"


def udp(source, target, payload):
    """A datagram in Ethernet and IPv4, without checksums."""
    (a, port_a), (b, port_b) = source, target
    segment = struct.pack("!HHHH", port_a, port_b, 8 + len(payload), 0) + payload
    packet = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 20 + len(segment), 0, 0, 64, 17, 0, bytes(a), bytes(b)) + segment
    return bytes(12) + b"\x08\0" + packet


def ring(folder, files, seconds, rate, seed):
    """Files of a ring: many servers, with loss, requests sent again, late answers, answers twice, damage, and servers that ask."""
    dice = random.Random(seed)
    frames, now = [], 0.0
    while now < files * seconds:
        now += dice.expovariate(rate)
        number = dice.randrange(40)
        server = ((10, 1, 0, number), 7777 + number % 3)
        asks = (10, 1, 0, dice.randrange(40)) if dice.random() < 0.05 else (198, 51, dice.randrange(4), dice.randrange(250))
        client, start = (asks, dice.randrange(40_000, 40_020)), int(now * SECOND)
        cookie, luck = dice.randbytes(8), dice.random()
        poll = udp(client, server, b"\xd5\xf6\0\1" + cookie + b"\1")
        frames.append((start, poll))
        if luck < 0.05:
            continue
        if luck < 0.10:
            frames.append((start + SECOND, poll))
        name = b"Factory %d" % number
        answer = b"\xd5\xf6\1\1" + cookie + b"\3" + struct.pack("<IQ", 385_279, 0) + b"\0" + struct.pack("<H", len(name)) + name + b"\1"
        if 0.10 < luck < 0.15:
            answer = answer[: dice.randrange(1, len(answer))]
        then = start + (6 * SECOND if 0.15 < luck < 0.20 else dice.randrange(10**6, 10**8))
        frames.append((then, udp(server, client, answer)))
        if 0.20 < luck < 0.25:
            frames.append((then + 10**7, udp(server, client, answer)))
    frames.sort(key=lambda frame: frame[0])
    paths = [folder / f"ring_{at:05}.pcap" for at in range(files)]
    for at, path in enumerate(paths):
        head = struct.pack("<IHHiIII", 0xA1B23C4D, 2, 4, 0, 0, 262_144, 1)
        own = [frame for frame in frames if at * seconds <= frame[0] / SECOND < (at + 1) * seconds]
        body = (struct.pack("<IIII", 1_795_000_000 + t // SECOND, t % SECOND, len(f), len(f)) + f for t, f in own)
        path.write_bytes(head + b"".join(body))
    return [str(path) for path in paths]


def executors(spark):
    """Processes of this application's executors on this machine."""
    application = spark.sparkContext.applicationId.encode()
    for process in pathlib.Path("/proc").glob("[0-9]*"):
        try:
            words = (process / "cmdline").read_bytes().split(b"\0")
            if application in words and any(word.endswith(b"CoarseGrainedExecutorBackend") for word in words):
                yield int(process.name)
        except OSError:
            continue


def working_stage(spark):
    """A stage of which some tasks have ended, some run, and some have not begun; None if there is none."""
    tracker = spark.sparkContext.statusTracker()
    for number in tracker.getActiveStageIds():
        stage = tracker.getStageInfo(number)
        if stage and stage.numCompletedTasks and stage.numActiveTasks and stage.numTasks - stage.numCompletedTasks - stage.numActiveTasks >= 2:
            return stage
    return None


def kill_one(spark, over, killed):
    """Kills an executor while a stage is in the middle of its tasks. `over` is set when there is nothing left to wait for."""
    while not over.is_set():
        stage = working_stage(spark)
        process = next(executors(spark), None) if stage else None
        if process:
            os.kill(process, signal.SIGKILL)
            killed.append((process, stage))
            return
        time.sleep(0.01)


def one_run(paths, table, folder):
    """Writes a table of one run to a file that Spark can read; returns its path."""
    path = f"{folder}/{table}.parquet"
    kinds = qdissect.spark.columns(table)
    pyarrow.parquet.write_table(pyarrow.table(qdissect.read(paths, table)).cast(kinds), path)
    return path


def comparable(rows):
    """The rows of a table without what only one run can tell."""
    rows = rows.drop("id")
    if {"rule", "message"} <= set(rows.columns):
        rows = rows.withColumn("message", functions.regexp_replace("message", OF_ONE_RUN, ""))
    return rows


def compare(spark, run, table, one, what):
    started = time.time()
    # What is lost with an executor is computed again: a local checkpoint could not be.
    one, many = comparable(spark.read.parquet(one)), comparable(run.table(table)).persist()
    counts = one.count(), one.exceptAll(many).count(), many.exceptAll(one).count()
    many.unpersist()
    print(f"{what}, {table}: {counts[0]} rows, {counts[1:]} differ, {time.time() - started:.1f} s", flush=True)
    assert counts[0] > 0 and counts[1:] == (0, 0), counts


def check_shards(spark, paths, what):
    """Compares the tables of shards with those of one run."""
    with tempfile.TemporaryDirectory() as folder:
        one = {table: one_run(paths, table, folder) for table in qdissect.TABLES}
        for shards in (1, 4, 16):
            run = qdissect.spark.Sharded(spark, paths, shards=shards)
            run.frames.persist()
            for table in qdissect.TABLES:
                compare(spark, run, table, one[table], f"{what}, {shards} shards")
            run.frames.unpersist()


def check_killed(spark, paths, what):
    """Compares them when an executor is killed while it works."""
    killed, over = [], threading.Event()
    killer = threading.Thread(target=kill_one, args=(spark, over, killed))
    with tempfile.TemporaryDirectory() as folder:
        one = one_run(paths, "exchanges", folder)
        run = qdissect.spark.Sharded(spark, paths, shards=16)
        killer.start()
        compare(spark, run, "exchanges", one, f"{what}, an executor killed")
        over.set()
        killer.join()
    assert killed, "no stage was in the middle of its tasks: give it more to do"
    process, stage = killed[0]
    print(f"killed: process {process}, with {stage.numCompletedTasks} of {stage.numTasks} tasks done, {stage.numActiveTasks} running", flush=True)
    # Its task has failed, or what it had finished was computed again.
    after = spark.sparkContext.statusTracker().getStageInfo(stage.stageId)
    print(f"the stage has {after.numFailedTasks} failed tasks, attempt {after.currentAttemptId}", flush=True)
    assert after.numFailedTasks or after.currentAttemptId > stage.currentAttemptId, after
    assert process not in executors(spark)


def exported(spark, program, paths):
    """Compares the files of `qdissect export` with what the package reads. The program orders captures by time."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([program, "export", "-q", "--to", f"{folder}/tables", *paths], capture_output=True)
        for table in qdissect.TABLES:
            one = spark.read.parquet(one_run(paths, table, folder)).drop("options")
            written = spark.read.parquet(f"{folder}/tables/{table}").drop("options")
            counts = one.count(), one.exceptAll(written).count(), written.exceptAll(one).count()
            print(f"exported, {table}: {counts}", flush=True)
            assert counts[0] > 0 and counts[1:] == (0, 0), counts


def by_sensor(spark, paths):
    """Compares the tables of one task for each sensor with those of one run."""
    root = pathlib.Path(paths[0]).parent
    for table in qdissect.TABLES:
        found = spark.read.format("qdissect").option("table", table).load(str(root))
        with tempfile.TemporaryDirectory() as folder:
            one = spark.read.parquet(one_run(paths, table, folder)).drop("sensor")
            counts = one.count(), one.exceptAll(found.drop("sensor")).count(), found.count()
            print(f"a task for each sensor, {table}: {counts}", flush=True)
            assert counts[0] == counts[2] > 0 and counts[1] == 0, counts


if __name__ == "__main__":
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "4",
        "spark.executor.memory": "1g",
        "spark.executor.cores": "1",
    }
    builder = SparkSession.builder.master(sys.argv[1]).appName("qdissect")
    for name, value in settings.items():
        builder = builder.config(name, value)
    spark = builder.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    spark.dataSource.register(qdissect.spark.Captures)
    captures = (path.absolute() for path in pathlib.Path("captures").rglob("*.pcap*") if path.name not in OF_TWO_HOSTS)
    captures = sorted(map(str, captures))
    with tempfile.TemporaryDirectory() as folder:
        ring_files = ring(pathlib.Path(folder), 12, 5, 60, 7)
        for program in sys.argv[2:]:
            exported(spark, program, ring_files)
        check_shards(spark, captures, "all captures")
        check_shards(spark, ring_files, "a ring")
        check_killed(spark, ring_files, "a ring")
        by_sensor(spark, ring_files)
    spark.stop()
    print("all hold")
