"""The configuration of the usual MCP clients that makes them start `leadline mcp`, or use a `leadline serve`."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

# The command line of the server: the interpreter that runs now, because clients have another PATH.
Command = Sequence[str]
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


def server_arguments(args: argparse.Namespace) -> Command:
    """Return the command line of the server with the options of `install`; paths are absolute."""
    options = [("--docs", _absolute(folder)) for folder in args.docs]
    options += [("--folder", _absolute(args.folder or "runs"))]
    settings = args.settings or (SETTINGS if Path(SETTINGS).is_file() else "")
    options += [("--settings", _absolute(settings))] if settings else []
    options += [("--set", setting) for setting in args.set]
    options += [("--pipeline", args.pipeline)] if args.pipeline else []
    return [sys.executable, "-m", "leadline", "mcp", *(word for option in options for word in option)]


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())


def local_configuration(client: str, command: Command) -> str:
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
