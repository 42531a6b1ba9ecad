"""One module per group of verbs. A command decodes, calls one verb of the library, and renders."""
