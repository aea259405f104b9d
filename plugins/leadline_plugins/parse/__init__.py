"""Parsers: bytes to documents with blocks.

The plugins `text`, `html`, `feed`, `pdf` and `word` return pieces, which `layout` turns into Markdown and blocks;
`markdown_blocks` finds the blocks of any Markdown text.
"""
