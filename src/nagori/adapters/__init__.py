"""Adapters to the outside: clock, tokenisers, embedders, language models, HTTP.

Optional libraries are imported inside functions, so that a missing one breaks nothing.
"""
