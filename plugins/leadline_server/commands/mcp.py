"""Serve runs to an MCP client on standard input and output.

Clients kill the process that they started, with its whole group: the server works in a process of its own.
"""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

from leadline.commands import add_command, add_group, client_of, count, run_coroutine, run_environment
from leadline.commands.output import say, write
from leadline.errors import UsageError

# The settings file of the working folder, which is another one when a client starts the server.
SETTINGS = "leadline.toml"
# What the user replaces: a token on a command line would stay in the history of the shell.
PLACE = "TOKEN"


# Where each client is configured, and for those that read JSON the key above the servers and the key of an address.
CLIENTS = {
    "claude-code": ("Run this in the folder of your project:", "", ""),
    "claude-desktop": (
        "Add this to claude_desktop_config.json (Settings, Developer, Edit Config), then restart Claude Desktop:",
        "mcpServers",
        "",  # it only starts programs: mcp-remote passes its messages on
    ),
    "codex": ("Add this to ~/.codex/config.toml:", "", ""),
    "cursor": ("Add this to .cursor/mcp.json of a project, or ~/.cursor/mcp.json:", "mcpServers", "url"),
    "vscode": ("Add this to .vscode/mcp.json of a project:", "servers", "url"),
    "windsurf": ("Add this to ~/.codeium/windsurf/mcp_config.json:", "mcpServers", "serverUrl"),
    "zed": ("Add this to settings.json of Zed (zed: open settings file):", "context_servers", "url"),
}


def server_arguments(args: Namespace) -> Sequence[str]:
    """Return the command line of the server with the options of `install`; paths are absolute.

    It begins with the interpreter that runs now, because clients have another PATH.
    """
    options = [("--docs", _absolute(folder)) for folder in args.docs]
    options += [("--folder", _absolute(args.folder or "runs"))]
    settings = args.settings or (SETTINGS if Path(SETTINGS).is_file() else "")
    options += [("--settings", _absolute(settings))] if settings else []
    options += [("--set", setting) for setting in args.set]
    options += [("--pipeline", args.pipeline)] if args.pipeline else []
    return [sys.executable, "-m", "leadline", "mcp", *(word for option in options for word in option)]


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())


def local_configuration(client: str, command: Sequence[str]) -> str:
    """Return the text that makes a client start the server."""
    if client == "claude-code":
        return f"claude mcp add --transport stdio leadline -- {shlex.join(command)}"
    if client == "codex":
        program, *words = [json.dumps(word, ensure_ascii=False) for word in command]
        return f"[mcp_servers.leadline]\ncommand = {program}\nargs = [{', '.join(words)}]"
    return _json(client, "stdio", {"command": command[0], "args": list(command[1:])})


def remote_configuration(client: str, url: str) -> str:
    """Return the text that makes a client use the server at an address, with a token."""
    header = f"Authorization: Bearer {PLACE}"
    if client == "claude-code":
        return f"claude mcp add --transport http leadline {shlex.quote(url)} --header '{header}'"
    if client == "codex":
        address = json.dumps(url, ensure_ascii=False)
        return f'[mcp_servers.leadline]\nurl = {address}\nhttp_headers = {{ Authorization = "Bearer {PLACE}" }}'
    if name := CLIENTS[client][2]:
        return _json(client, "http", {name: url, "headers": {"Authorization": f"Bearer {PLACE}"}})
    return _json(client, "stdio", {"command": "npx", "args": ["-y", "mcp-remote", url, "--header", header]})


def _json(client: str, kind: str, server: dict[str, object]) -> str:
    typed = {"type": kind, **server} if client == "vscode" else server
    return json.dumps({CLIENTS[client][1]: {"leadline": typed}}, indent=2, ensure_ascii=False)


def arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--wait",
        type=count,
        default=45,
        metavar="SECONDS",
        help="time after which a tool returns the id of a run that is not finished (default: 45)",
    )
    run_environment(parser)
    group = add_group(parser, required=False)
    add = add_command(group, "install", "print the configuration that connects a client", install)
    add.add_argument("client", metavar="CLIENT", choices=CLIENTS, help=", ".join(CLIENTS))
    add.add_argument("--url", default="", help="address of a `leadline serve`, such as http://127.0.0.1:8327/mcp")
    run_environment(add)


def run(args: Namespace) -> int:
    """Serve the client on standard input and output, until it and the runs that it started have ended."""
    if find_spec("mcp") is None:
        raise UsageError("the MCP server needs the package mcp: leadline plugins install 'leadline[mcp]'")
    if sys.stdin.isatty():
        say("Waiting for an MCP client on standard input; `leadline mcp install CLIENT` tells how to connect one.")
    released = detach()
    from leadline_server.mcp.stdio import serve

    run_coroutine(serve(client_of(args), wait=args.wait, released=released))
    return 0


def install(args: Namespace) -> int:
    """Print what to put into the configuration of a client; write no file."""
    say(CLIENTS[args.client][0])
    if args.url:
        write(remote_configuration(args.client, args.url))
        say(f"Replace {PLACE} by a token of the server; leave the header out where it has none.")
    else:
        write(local_configuration(args.client, server_arguments(args)))
    return 0


def detach() -> Callable[[], None]:
    """Continue in a new process of its own group, and return a function that ends the old one.

    The old process is the one that the client sees. It ends with the new one, or when the function is called; it passes
    Ctrl-C on. Where there is no fork (Windows), the process stays as it is. Call it before threads and loops start.
    """
    if not hasattr(os, "fork"):
        return lambda: None
    old, new = socket.socketpair()
    process = os.fork()
    if process:
        new.close()
        os._exit(_wait(process, old))  # the standard streams and their buffers belong to the new process
    old.close()
    os.setsid()

    def release() -> None:
        try:
            new.send(b".")
        except OSError:
            return  # killed by its client

    return release


def _wait(process: int, old: socket.socket) -> int:
    """Return the exit code: 0 when the new process was released, or else its own."""
    signal.signal(signal.SIGINT, lambda *_: os.kill(process, signal.SIGTERM))
    if old.recv(1):
        return 0
    code = os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])
    return code if code >= 0 else 128 - code
