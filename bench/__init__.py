"""Benchmarks of nagori, each run as a module: `python -m bench.store`."""
