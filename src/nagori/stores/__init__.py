"""Stores: one engine per module. `sqlite` is the default, `memory` the reference for the contract suite."""
