"""The configuration of the usual MCP clients that makes them start `leadline mcp`."""

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


@dataclass(frozen=True)
class McpClient:
    """A client: where its configuration is, and the text to add there."""

    where: str
    snippet: Callable[[Command], str]


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


def _in(*keys: str, **more: object) -> Callable[[Command], str]:
    """Return a function that writes the server as JSON below these keys."""

    def snippet(command: Command) -> str:
        server: dict[str, object] = {**more, "command": command[0], "args": list(command[1:])}
        for key in reversed(keys):
            server = {key: server}
        return json.dumps(server, indent=2, ensure_ascii=False)

    return snippet


def _codex(command: Command) -> str:
    words = [json.dumps(word, ensure_ascii=False) for word in command]
    return f"[mcp_servers.leadline]\ncommand = {words[0]}\nargs = [{', '.join(words[1:])}]"


def _claude_code(command: Command) -> str:
    return f"claude mcp add --transport stdio leadline -- {shlex.join(command)}"


def _add(path: str) -> str:
    return f"Add this to {path}:"


CLIENTS = {
    "claude-code": McpClient("Run this in the folder of your project:", _claude_code),
    "claude-desktop": McpClient(
        "Add this to claude_desktop_config.json (Settings, Developer, Edit Config), then restart Claude Desktop:",
        _in("mcpServers", "leadline"),
    ),
    "codex": McpClient(_add("~/.codex/config.toml"), _codex),
    "cursor": McpClient(_add(".cursor/mcp.json of a project, or ~/.cursor/mcp.json"), _in("mcpServers", "leadline")),
    "vscode": McpClient(_add(".vscode/mcp.json of a project"), _in("servers", "leadline", type="stdio")),
    "windsurf": McpClient(_add("~/.codeium/windsurf/mcp_config.json"), _in("mcpServers", "leadline")),
    "zed": McpClient(_add("settings.json of Zed (zed: open settings file)"), _in("context_servers", "leadline")),
}
