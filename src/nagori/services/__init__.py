"""The workrooms: one file per verb or two that belong together. They are given `Parts` and a scope; the
rules they follow stand in `core`."""
