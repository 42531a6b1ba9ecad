"""The library: formulas, the life table and the shapes of things. Pure: no I/O, no clock, no logging."""
