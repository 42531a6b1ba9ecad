"""Edges: decode a request, call one verb, render the result. Command line, hooks, worker, importers,
charts."""
