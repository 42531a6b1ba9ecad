"""A real small language model, end to end: `make test-llm`. Not part of `make test`: it takes minutes."""
