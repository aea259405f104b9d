"""`leadline mcp`: the MCP server on standard input and output, and the snippets that install it in clients."""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec

from leadline.cli.common import client_of
from leadline.cli.mcp_clients import CLIENTS, PLACE, server_arguments
from leadline.cli.terminal import say, write
from leadline.errors import UsageError


def run(args: argparse.Namespace) -> int:
    """Serve the client on standard input and output, until it and the runs that it started have ended."""
    if find_spec("mcp") is None:
        raise UsageError("the MCP server needs the package mcp: pip install 'leadline[mcp]'")
    if sys.stdin.isatty():
        say("Waiting for an MCP client on standard input; `leadline mcp install CLIENT` tells how to connect one.")
    from leadline_server.mcp.detach import detach

    released = detach()
    from leadline._runtime import loop_shutdown
    from leadline_server.mcp.stdio import serve

    loop_shutdown.run(serve(client_of(args), wait=args.wait, released=released))
    return 0


def install(args: argparse.Namespace) -> int:
    """Print what to put into the configuration of a client; write no file."""
    client = CLIENTS[args.client]
    say(client.where)
    if args.url:
        write(client.remote(args.url))
        say(f"Replace {PLACE} by a token of the server; leave the header out where it has none.")
    else:
        write(client.snippet(server_arguments(args)))
    return 0
