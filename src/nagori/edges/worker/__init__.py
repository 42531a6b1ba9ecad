"""The worker: a background process that forms memories from recorded turns, then exits.

A hook starts it when there is work; at most one runs, and it opens no port. It reads the spool, processes
pending turns, recovers killed sessions, and checks once more before it exits: a writer that saw it running
started no other.

    spawn                             start a worker without waiting; the only part that hooks import
    run                               the rounds of work
    postgres_worker                   the same for many owners in a database (`nagori worker`)
    recover_answers_from_transcripts  answers of sessions that were killed
"""
