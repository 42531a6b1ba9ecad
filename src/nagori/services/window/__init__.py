"""The context window prunes conversations to a budget and remembers the messages that leave."""
