"""Commands by group. A command decodes its options, calls one verb of the library and renders the result."""
