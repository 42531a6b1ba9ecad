"""Journals: where events are kept, in order. `file` keeps them on this machine."""
