"""The typed tasks of the research pipeline, each module those of one of its phases: what goes in, what comes back.

The stages ask them of whatever provider is configured; `embedded` performs them by algorithm from the same inputs.
"""
