"""The windows to the world: clock, embedders, servers, later language models. Optional libraries are imported
inside functions, so that a missing one costs nothing and breaks nothing."""
