"""What a language model does better than rules, the one way to it (`client`), and what is said to it."""
