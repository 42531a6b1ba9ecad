"""The documentation. `python -m docs.generate` writes what the code can tell about itself."""
