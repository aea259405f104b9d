"""The MCP server: the tools of `tools` over the runs of a `leadline.Client`, on stdio or mounted by the HTTP server.

`runs` knows nothing of MCP; `tools` and `stdio` need the package `mcp` (the extra `mcp`).
"""
