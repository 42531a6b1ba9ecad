"""Services: one module per use case. They take a runtime and a scope and apply the rules of `core`."""
