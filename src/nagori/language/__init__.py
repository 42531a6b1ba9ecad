"""About words, in two languages: cut, compared, weighed, shortened, hidden. Pure, like core."""
