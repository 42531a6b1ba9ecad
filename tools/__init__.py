"""Checks of the project itself, run by `make check`; nothing here is shipped."""
