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
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent
CLIENTS = Path(os.environ.get("CLIENTS", ROOT / "target/clients"))
QDISSECT = os.environ.get("QDISSECT", str(ROOT / "target/release/qdissect"))
FACTS = {"name": "Lab 1", "map": "dm1", "players": 2, "max": 16}
PAGE = ROOT / "docs/clients.md"


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


class Driver:
    """A process that asks servers, and the protocols of each of its clients."""

    def __init__(self, command):
        self.environment = {**os.environ, "CLIENTS": str(CLIENTS)}
        self.command = command
        listed = subprocess.run([*command, "list"], env=self.environment, stdout=subprocess.PIPE, check=True)
        self.clients = json.loads(listed.stdout)
        self.process = None

    def ask(self, client, protocol, port):
        if self.process is None:
            self.process = subprocess.Popen(
                self.command, env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL, text=True,
            )
        try:
            print(json.dumps({"client": client, "protocol": protocol, "port": port}), file=self.process.stdin, flush=True)
            return json.loads(self.process.stdout.readline())
        except (BrokenPipeError, ValueError):
            self.process.kill()
            self.process = None
            return {"error": "crash"}


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
    return bool(told) and all(FACTS[key] == value or str(FACTS[key]) == str(value) for key, value in told.items())


def main():
    drivers = [Driver(command) for command in install()]
    clients = [(driver, client, of) for driver in drivers for client, of in driver.clients.items()]
    protocols = sys.argv[1:] or sorted({protocol for _, _, of in clients for protocol in of})
    sections, wrong = [], []
    for protocol in protocols:
        those = [(driver, client) for driver, client, of in clients if protocol in of]
        with Server(protocol) as port:
            right = [(client, driver.ask(client, protocol, port)) for driver, client in those]
        wrong += [f"{protocol} {client}: {facts}" for client, facts in right if not is_right(facts)]
        rows = [["none", *(read(facts) for _, facts in right)]]
        listed = subprocess.run([QDISSECT, "answer", protocol, "--list"], stdout=subprocess.PIPE, text=True, check=True)
        for line in listed.stdout.splitlines():
            rule, severity, title = line.split(maxsplit=2)
            with Server(protocol, "--fault", rule) as port:
                results = [read(driver.ask(client, protocol, port)) for driver, client in those]
            rows.append([f"{rule}: {title}", *results])
        heading = ["fault", *(client for _, client in those)]
        table = [heading, ["---"] * len(heading), *rows]
        sections.append(f"## {protocol}\n\n" + "\n".join("| " + " | ".join(row) + " |" for row in table) + "\n")
        print(f"{protocol}: {len(rows) - 1} faults", file=sys.stderr)
    versions = [*(HERE / "requirements.txt").read_text().split(), *(
        f"{name}=={version}" for name, version in json.loads((HERE / "package.json").read_text())["dependencies"].items()
    )]
    if not sys.argv[1:]:
        head, _ = PAGE.read_text().split("<!-- table: begin -->")
        told = f"Last run: {time.strftime('%Y-%m-%d', time.gmtime())}, {', '.join(sorted(versions))}.\n"
        PAGE.write_text(f"{head}<!-- table: begin -->\n\n{told}\n" + "\n".join(sections))
    else:
        print("\n".join(sections))
    for line in wrong:
        print(f"wrong: {line}", file=sys.stderr)
    return 1 if wrong else 0


sys.exit(main())
