"""Runs the queries of docs/tables.md on the demo capture, and compares tables with records.

questions.py PROGRAM [--update]: PROGRAM is qdissect with the feature parquet; duckdb and polars must be installed.
"""
import collections
import decimal
import glob
import json
import os
import re
import subprocess
import sys
import tempfile

import duckdb
import polars as pl

PAGE = "docs/tables.md"
TABLES = ["messages", "exchanges", "findings", "servers", "captures"]


def export(program, to, *inputs):
    run = subprocess.run([program, "export", "-q", "--to", to, *inputs], capture_output=True, text=True)
    assert run.returncode in (0, 2), run.stderr
    return run


def lines(names, rows):
    """A result as text: a line with the column names, and a line for each row."""
    return "".join("\t".join(str(cell) for cell in row) + "\n" for row in [names, *rows])


def answer(kind, question):
    if kind == "sql":
        result = duckdb.sql(question)
        return lines(result.columns, result.fetchall())
    frame = eval(question, {"pl": pl}).collect()
    return lines(frame.columns, frame.rows())


def ask(text, folder):
    """Returns the page with the current answers to its queries."""
    working_directory = os.getcwd()
    os.chdir(folder)
    try:
        def with_answer(block):
            return f"```{block[1]}\n{block[2]}```\n\n```text\n{answer(block[1], block[2])}```\n"
        found = re.sub(r"```(sql|python)\n(.*?)```\n\n```text\n(.*?)```\n", with_answer, text, flags=re.S)
    finally:
        os.chdir(working_directory)
    assert len(re.findall(r"```(?:sql|python)\n", text)) == 7, "five questions, two of them twice"
    return found


def records(program, command, path, kind, *options):
    run = subprocess.run([program, command, "-T", "ndjson", *options, path], capture_output=True, text=True)
    return [r for r in (json.loads(line, parse_float=decimal.Decimal) for line in run.stdout.splitlines()) if r["type"] == kind]


def nanos(seconds):
    return None if seconds is None else int(seconds * 10**9)


def compare(program, path, folder):
    """Compares the records and the tables of one capture; returns the number of rows."""
    rows = {t: pl.read_parquet(f"{folder}/{t}/*.parquet").to_dicts() for t in TABLES}
    def end(row, side):
        ip = row[f"{side}_ip"]
        return f"[{ip}]:{row[f'{side}_port']}" if ":" in ip else f"{ip}:{row[f'{side}_port']}"
    packets = records(program, "dump", path, "packet")
    exchanges = records(program, "exchanges", path, "exchange")
    checked = records(program, "check", path, "finding", "--show", "note")
    expected = {
        "messages": [(r["frame"], r["src"], r["dst"], r["protocol"], r["message"], r["confidence"], r["payload_length"],
                      r.get("duplicate_of"), r.get("encapsulation", [])) for r in packets],
        "exchanges": [(r["request_frame"], r["client"], r["server"], r["protocol"], r["step"], r["key"], r["outcome"],
                       nanos(r["response_time"]), tuple(r["response_frames"]), r["request_bytes"], r["response_bytes"],
                       r.get("retransmissions", 0), r["id"]) for r in exchanges],
        "findings": [(r["frame"], r["rule"], r["severity"], r["fault"], r["field"], r["start"], r["end"],
                      re.sub(r" \(the capture dropped .*\)$", "", r["message"]), (r["caused_by"] or {}).get("rule"))
                     for r in checked],
    }
    actual = {
        "messages": [(r["frame"], end(r, "src"), end(r, "dst"), r["protocol"], r["message"], r["confidence"],
                      r["payload_length"], r["duplicate_of"], r["encapsulation"]) for r in rows["messages"]],
        "exchanges": [(r["request_frame"], end(r, "client"), end(r, "server"), r["protocol"], r["step"], r["key"],
                       r["outcome"], r["response_time_ns"], tuple(r["response_frames"]), r["request_bytes"],
                       r["response_bytes"], r["retransmissions"], r["id"]) for r in rows["exchanges"]],
        "findings": [(r["frame"], r["rule"], r["severity"], r["fault"], r["field"], r["start"], r["end"], r["message"],
                      r["caused_by_rule"]) for r in rows["findings"]],
    }
    for table in expected:
        a, b = sorted(map(repr, expected[table])), sorted(map(repr, actual[table]))
        assert a == b, f"{path}: {table}: {next((x, y) for x, y in zip(a + [''], b + ['']) if x != y)}"
    def counted(severity):
        findings = [r for r in rows["findings"] if r["severity"] == severity and r["caused_by_rule"] is None]
        return collections.Counter((end(r, "server"), r["protocol"]) for r in findings)
    for severity in ["error", "warning", "note"]:
        found = counted(severity)
        for row in rows["servers"]:
            server = end(row, "server"), row["protocol"]
            assert row[f"{severity}s"] == found[server], f"{path}: {severity}s of {server}: {found[server]}"
    summary = records(program, "summary", path, "summary")
    if summary:
        capture, summary = rows["captures"][0], summary[0]
        for key in ["packets", "udp", "recognised", "complete"]:
            assert capture[key] == summary[key], f"{path}: {key}: {capture[key]}, {summary[key]}"
    return sum(map(len, actual.values()))


def main():
    program = os.path.abspath(sys.argv[1])
    with tempfile.TemporaryDirectory() as folder:
        export(program, f"{folder}/tables", "captures/demo.pcapng")
        with open(PAGE, encoding="utf-8") as page:
            text = page.read()
        found = ask(text, folder)
        if "--update" in sys.argv:
            with open(PAGE, "w", encoding="utf-8") as page:
                page.write(found)
        elif found != text:
            sys.exit(f"{PAGE}: the answers are others:\n{found}")
    compared = 0
    for path in sorted(glob.glob("captures/**/*.pcap*", recursive=True)):
        with tempfile.TemporaryDirectory() as folder:
            export(program, f"{folder}/tables", path)
            compared += compare(program, path, f"{folder}/tables")
    print(f"{compared} rows are the same in tables and records.")


main()
