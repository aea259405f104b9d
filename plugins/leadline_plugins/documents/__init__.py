"""The store of documents: their passages, cut once, in a full-text index that survives kills.

`text_index` has the passages in tantivy, `ranking` answers questions from them, and `store` has the table of documents
that says which passages count. The search engine `local` and the plugin `knowledge` use the same store.
"""
