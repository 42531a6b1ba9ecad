"""Programs that show what nagori does; none of them is in the wheel."""
