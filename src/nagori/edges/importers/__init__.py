"""Reading what others wrote: conversations of agent hosts, notes, the exports of other memories."""
