"""The cellar: one engine per file. `memory` is the oracle of the contract, `sqlite` the default."""
