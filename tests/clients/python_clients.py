"""Asks servers with clients in Python. Reads lines of JSON, {"client", "port"}, and answers each with a line: what the client
has read, or {"error"}."""

import asyncio
import json
import logging
import sys

import a2s
import mcstatus
from opengsq import protocols as gsq

HOST = "127.0.0.1"
TIMEOUT = 1.0


def opengsq(of, how="get_status", **options):
    """A client of opengsq: its class, and how it is asked."""
    return lambda port: asyncio.run(getattr(of(HOST, port, TIMEOUT), how)(**options))


def info_of(status):
    """The facts in a dict or an object, whatever they are called."""
    info = getattr(status, "info", None) or getattr(status, "server", None) or status
    get = info.get if isinstance(info, dict) else lambda key: getattr(info, key, None)

    def first(*keys):
        return next((get(key) for key in keys if get(key) is not None), None)

    players = first("players", "num_players", "numplayers", "clients", "player_count")
    if players is None or isinstance(players, (list, dict)):
        listed = getattr(status, "players", None)
        players = len(listed) if isinstance(listed, list) else None
    most = first("max_players", "maxplayers", "sv_maxclients", "maxclients", "si_maxPlayers")
    return {
        "name": first("name", "hostname", "sv_hostname", "server_name", "motd_line1", "si_name"),
        "map": first("map", "mapname", "map_name", "motd_line2", "si_map"),
        "players": None if players is None else int(players),
        "max": None if most is None else int(most),
    }


def python_a2s(port):
    info = a2s.info((HOST, port), timeout=TIMEOUT)
    a2s.players((HOST, port), timeout=TIMEOUT)
    a2s.rules((HOST, port), timeout=TIMEOUT)
    return {"name": info.server_name, "map": info.map_name, "players": info.player_count, "max": info.max_players}


def bedrock(port):
    status = mcstatus.BedrockServer(HOST, port, timeout=TIMEOUT).status(tries=1)
    players = status.players
    return {"name": status.motd.raw, "map": status.map_name, "players": players.online, "max": players.max}


def java(port):
    query = mcstatus.JavaServer(HOST, 25565, timeout=TIMEOUT, query_port=port).query(tries=1)
    players = query.players
    return {"name": query.motd.raw, "map": query.map_name, "players": players.online, "max": players.max}


def doom3(port):
    """Without players: this client reads the mark at their end as one more player, and then shows none."""
    return {**info_of(opengsq(gsq.Doom3)(port)), "players": None}


CLIENTS = {
    "python-a2s": {"a2s": python_a2s},
    "mcstatus": {"raknet": bedrock, "gamespy3": java},
    "opengsq": {
        "a2s": opengsq(gsq.Source, "get_info"),
        "ase": opengsq(gsq.ASE),
        "doom3": doom3,
        "gamespy1": opengsq(gsq.GameSpy1, xserverquery=False),
        "gamespy2": opengsq(gsq.GameSpy2),
        "gamespy3": opengsq(gsq.GameSpy4),
        "quake3": opengsq(gsq.Quake3),
        "raknet": opengsq(gsq.RakNet),
        "samp": opengsq(gsq.Samp),
        "unreal2": opengsq(gsq.Unreal2, "get_details"),
    },
}


def ask(client, protocol, port):
    try:
        result = CLIENTS[client][protocol](port)
        return result if isinstance(result, dict) and "max" in result else info_of(result)
    except Exception as error:  # whatever a client raises is what this is about
        kind = type(error).__name__
        return {"error": "no answer" if "imeout" in kind else "struct.error" if kind == "error" else kind}


def main():
    logging.disable(logging.CRITICAL)
    answers, sys.stdout = sys.stdout, sys.stderr  # some clients print
    if len(sys.argv) > 1:
        print(json.dumps({client: list(of) for client, of in CLIENTS.items()}), file=answers)
        return
    for line in sys.stdin:
        asked = json.loads(line)
        answer = ask(asked["client"], asked["protocol"], asked["port"])
        print(json.dumps(answer, default=str), file=answers, flush=True)


main()
