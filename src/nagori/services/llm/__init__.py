"""Use a language model: appraisal, summaries, query expansion; every request goes through `client`."""
