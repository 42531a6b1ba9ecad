"""The porch: decode what comes in, call one verb, render what goes out."""
