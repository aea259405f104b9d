"""Parsers: bytes to documents with blocks.

`text`, `html`, `feed`, `pdf` and `word` are plugins. They make pieces, which `layout` turns into Markdown and blocks.
`markdown_blocks` reads the blocks of any text.
"""
