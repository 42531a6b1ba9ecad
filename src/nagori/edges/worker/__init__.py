"""The worker: makes memories of what hooks heard, and ends.

Started by a hook when there is work, at most one at a time, never with a port. It takes what waits beside the
journal into it, forms the turns that nobody formed yet, finishes sessions that were killed, and looks once
more before it goes: whoever wrote meanwhile saw a worker at work and started none.

    spawn     start one and do not wait for it: all that a hook loads of this
    run       its whole life, round by round
    recovery  answers of sessions that ended without telling them
"""
