"""The context window: conversations pruned to a budget, and what becomes of the messages that leave."""
