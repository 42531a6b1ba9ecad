"""Journals: ordered storage of events. `file` keeps them in files on this machine."""
