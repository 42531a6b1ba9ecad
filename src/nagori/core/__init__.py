"""Pure rules: formulas, events, levels and data types. No I/O, no clock, no logging."""
