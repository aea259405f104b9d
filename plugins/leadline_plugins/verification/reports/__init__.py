"""Read Markdown reports of any tool: their list of sources, and the source that each citation names."""
