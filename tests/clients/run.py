#!/usr/bin/env python3
"""Tries clients from the registries of Python and Node against `qdissect answer`, and writes docs/clients.md:
tests/clients/run.py [PROTOCOL...]

It needs python3, npm and a network to install the clients from, into the folder CLIENTS (else target/clients). QDISSECT is the
program (else target/release/qdissect). Exit code 1 if a client does not read the right facts from a right server."""

import json
import os
import re
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
CLIENTS = Path(os.environ.get("CLIENTS", ROOT / "target/clients"))
QDISSECT = os.environ.get("QDISSECT", str(ROOT / "target/release/qdissect"))
FACTS = {"name": "Lab 1", "map": "dm1", "players": 2, "max": 16}
PAGE = ROOT / "docs/clients.md"
TABLE = "<!-- table: begin -->"


def install():
    CLIENTS.mkdir(parents=True, exist_ok=True)
    python = CLIENTS / "venv/bin/python"
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", CLIENTS / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "-q", "install", "-r", HERE / "requirements.txt"], check=True)
    if not (CLIENTS / "node_modules/gamedig").exists():
        (CLIENTS / "package.json").write_text((HERE / "package.json").read_text())
        subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent"], cwd=CLIENTS, check=True)
    return [[python, HERE / "python_clients.py"], ["node", HERE / "gamedig.mjs"]]


ENVIRONMENT = {**os.environ, "CLIENTS": str(CLIENTS)}


def listed_by(command):
    """The clients that a command has, with the protocols of each."""
    listed = subprocess.run([*command, "list"], env=ENVIRONMENT, stdout=subprocess.PIPE, check=True)
    return json.loads(listed.stdout)


class Driver:
    """A process that asks servers."""

    def __init__(self, command):
        self.command = command
        self.process = None

    def ask(self, client, protocol, port):
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, env=ENVIRONMENT, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True,
            )
        try:
            asked = {"client": client, "protocol": protocol, "port": port}
            print(json.dumps(asked), file=self.process.stdin, flush=True)
            return json.loads(self.process.stdout.readline())
        except (BrokenPipeError, ValueError):
            self.end()
            return {"error": "crash"}

    def end(self):
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None


class Server:
    """`qdissect answer` on a free port."""

    def __init__(self, protocol, *options):
        facts = ["--name", FACTS["name"], "--map", FACTS["map"], "--players", "2", "--max-players", "16"]
        command = [QDISSECT, "answer", protocol, "--listen", "127.0.0.1:0", *facts, *options]
        self.process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
        line = self.process.stderr.readline()
        found = re.search(r"127\.0\.0\.1:(\d+)", line)
        if not found:
            raise SystemExit(f"{' '.join(command)}: {line}")
        self.port = int(found[1])

    def __enter__(self):
        return self.port

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()


def read(facts):
    """What a client has read, in few words."""
    if "error" in facts:
        return facts["error"]
    if is_right(facts):
        return "right"
    name = str(facts.get("name"))[:20].encode("ascii", "replace").decode().replace("|", "/").replace("`", "'")
    return f"`{json.dumps(name)} {facts.get('players')}/{facts.get('max')}`"


def is_right(facts):
    """Whether nothing that the client has read is wrong; not every client reads everything."""
    told = {key: value for key, value in facts.items() if value not in (None, "")}
    return bool(told) and all(str(FACTS.get(key)) == str(value) for key, value in told.items())


def tried(protocol, commands, clients):
    """The table of a protocol, and what is wrong with what clients read of a right server."""
    drivers = [Driver(command) for command in commands]
    those = [(driver, client) for driver, of in zip(drivers, clients) for client in of if protocol in of[client]]
    with Server(protocol) as port:
        right = [(client, driver.ask(client, protocol, port)) for driver, client in those]
    wrong = [f"{protocol} {client}: {facts}" for client, facts in right if not is_right(facts)]
    rows = [["none", *(read(facts) for _, facts in right)]]
    listed = subprocess.run([QDISSECT, "answer", protocol, "--list"], stdout=subprocess.PIPE, text=True, check=True)
    for line in listed.stdout.splitlines():
        rule, _, title = line.split(maxsplit=2)
        with Server(protocol, "--fault", rule) as port:
            results = [read(driver.ask(client, protocol, port)) for driver, client in those]
        rows.append([f"{rule}: {title}".replace("|", "/"), *results])
    heading = ["fault", *(client for _, client in those)]
    table = [heading, ["---"] * len(heading), *rows]
    for driver in drivers:
        driver.end()
    print(f"{protocol}: {len(rows) - 1} faults", file=sys.stderr)
    return f"## {protocol}\n\n" + "\n".join("| " + " | ".join(row) + " |" for row in table) + "\n", wrong


def main():
    commands = install()
    clients = [listed_by(command) for command in commands]
    known = {protocol for of in clients for protocols in of.values() for protocol in protocols}
    protocols = sys.argv[1:] or sorted(known)
    with ThreadPoolExecutor(4) as pool:
        results = list(pool.map(lambda protocol: tried(protocol, commands, clients), protocols))
    sections = [section for section, _ in results]
    wrong = [line for _, lines in results for line in lines]
    versions = [*(HERE / "requirements.txt").read_text().split(), *(
        f"{name}=={version}" for name, version in json.loads((HERE / "package.json").read_text())["dependencies"].items()
    )]
    if sys.argv[1:]:
        print("\n".join(sections))
    else:
        head, _ = PAGE.read_text().split(TABLE)
        told = f"Last run: {time.strftime('%Y-%m-%d', time.gmtime())}, {', '.join(sorted(versions))}.\n"
        PAGE.write_text(f"{head}{TABLE}\n\n{told}\n" + "\n".join(sections))
    for line in wrong:
        print(f"wrong: {line}", file=sys.stderr)
    return 1 if wrong else 0


sys.exit(main())
