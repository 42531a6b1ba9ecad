"""Serve the model, OpenAI-compatible, on a loopback port. Run by the Python of out/llm-venv, by path:

    serve.py MODEL THREADS    prints its address in one line; ends when its standard input does

Nobody's server is left behind: the pipe to it closes with whoever started it, however that one ended.
"""

import sys

CONTEXT = 8192  # tokens; our longest question and its answer


def main(model: str, threads: int) -> None:
    import xllamacpp

    params = xllamacpp.CommonParams()
    params.model.path = model
    params.n_ctx, params.n_parallel = CONTEXT, 1
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = threads
    params.warmup = False
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
