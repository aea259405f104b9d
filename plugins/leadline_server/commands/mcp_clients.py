"""The configuration of the usual MCP clients that makes them start `leadline mcp`, or use a `leadline serve`."""

from __future__ import annotations

import argparse
import json
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

# The command line of the server: the interpreter that runs now, because clients have another PATH.
Command = Sequence[str]
# The settings file of the working folder, which is another one when a client starts the server.
SETTINGS = "leadline.toml"
# What the user replaces: a token on a command line would stay in the history of the shell.
PLACE = "TOKEN"


@dataclass(frozen=True)
class McpClient:
    """A client: where its configuration is, and the text to add there for a command or for the address of a server."""

    where: str
    snippet: Callable[[Command], str]
    remote: Callable[[str], str]


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


def _below(server: dict[str, object], *keys: str) -> str:
    for key in reversed(keys):
        server = {key: server}
    return json.dumps(server, indent=2, ensure_ascii=False)


def _in(*keys: str, **more: object) -> Callable[[Command], str]:
    """Return a function that writes the server as JSON below these keys."""
    return lambda command: _below({**more, "command": command[0], "args": list(command[1:])}, *keys)


def _at(*keys: str, name: str = "url", **more: object) -> Callable[[str], str]:
    """Return a function that writes an address and the header of a token as JSON below these keys."""
    return lambda url: _below({**more, name: url, "headers": {"Authorization": f"Bearer {PLACE}"}}, *keys)


def _through_bridge(*keys: str) -> Callable[[str], str]:
    """Return a function for a client that only starts programs: mcp-remote passes its messages on."""
    words = ["-y", "mcp-remote", "", "--header", f"Authorization: Bearer {PLACE}"]
    return lambda url: _below({"command": "npx", "args": [*words[:2], url, *words[3:]]}, *keys)


def _codex(command: Command) -> str:
    words = [json.dumps(word, ensure_ascii=False) for word in command]
    return f"[mcp_servers.leadline]\ncommand = {words[0]}\nargs = [{', '.join(words[1:])}]"


def _codex_at(url: str) -> str:
    header = f'http_headers = {{ Authorization = "Bearer {PLACE}" }}'
    return f"[mcp_servers.leadline]\nurl = {json.dumps(url, ensure_ascii=False)}\n{header}"


def _claude_code(command: Command) -> str:
    return f"claude mcp add --transport stdio leadline -- {shlex.join(command)}"


def _claude_code_at(url: str) -> str:
    return f"claude mcp add --transport http leadline {shlex.quote(url)} --header 'Authorization: Bearer {PLACE}'"


def _add(path: str) -> str:
    return f"Add this to {path}:"


CLIENTS = {
    "claude-code": McpClient("Run this in the folder of your project:", _claude_code, _claude_code_at),
    "claude-desktop": McpClient(
        "Add this to claude_desktop_config.json (Settings, Developer, Edit Config), then restart Claude Desktop:",
        _in("mcpServers", "leadline"),
        _through_bridge("mcpServers", "leadline"),
    ),
    "codex": McpClient(_add("~/.codex/config.toml"), _codex, _codex_at),
    "cursor": McpClient(
        _add(".cursor/mcp.json of a project, or ~/.cursor/mcp.json"),
        _in("mcpServers", "leadline"),
        _at("mcpServers", "leadline"),
    ),
    "vscode": McpClient(
        _add(".vscode/mcp.json of a project"),
        _in("servers", "leadline", type="stdio"),
        _at("servers", "leadline", type="http"),
    ),
    "windsurf": McpClient(
        _add("~/.codeium/windsurf/mcp_config.json"),
        _in("mcpServers", "leadline"),
        _at("mcpServers", "leadline", name="serverUrl"),
    ),
    "zed": McpClient(
        _add("settings.json of Zed (zed: open settings file)"),
        _in("context_servers", "leadline"),
        _at("context_servers", "leadline"),
    ),
}
