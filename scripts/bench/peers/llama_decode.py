#!/usr/bin/env python3
"""Batched sampling by llama.cpp: prompts prefilled once each, copied to the samples, all sequences decoded together.

Phases: prefill (prompts and copies), decode (llama_decode alone), sample (llama.cpp's sampler, temperature 1). Every
sequence has its own KV stream, so that attention reads no other sequence's keys.
"""

import pathlib
import tempfile

import measure

WARMUP_TOKENS = 4


class Decoder:
    """A model and a context for `work.sequences` sequences; `run` samples once."""

    def __init__(self, work: measure.Workload, path: pathlib.Path, kv_dtype: str, flash: str) -> None:
        import llama_cpp
        import numpy

        self.api_ = llama_cpp
        self.work_ = work
        self.log_ = llama_cpp.llama_log_callback(lambda level, text, data: None)
        llama_cpp.llama_log_set(self.log_, None)
        llama_cpp.llama_backend_init()
        parameters = llama_cpp.llama_model_default_params()
        self.model_ = llama_cpp.llama_model_load_from_file(str(path).encode(), parameters)
        if not self.model_:
            raise SystemExit(f"llama.cpp can't load {path}")
        self.context_ = self.make_context(kv_dtype, flash)
        self.memory_ = llama_cpp.llama_get_memory(self.context_)
        self.vocabulary_ = llama_cpp.llama_vocab_n_tokens(llama_cpp.llama_model_get_vocab(self.model_))
        self.prompts_ = numpy.random.default_rng(work.seed).integers(
            3, self.vocabulary_, (work.prompts, work.prompt_length))
        self.batch_ = llama_cpp.llama_batch_init(max(work.prompts * work.prompt_length, work.sequences), 0, 1)
        self.sampler_ = llama_cpp.llama_sampler_init_dist(work.seed)

    def make_context(self, kv_dtype: str, flash: str):
        api, work = self.api_, self.work_
        parameters = api.llama_context_default_params()
        parameters.n_seq_max = work.sequences
        parameters.n_ctx = work.sequences * work.length
        parameters.n_batch = max(work.prompts * work.prompt_length, work.sequences)
        parameters.n_threads = parameters.n_threads_batch = work.threads
        parameters.kv_unified = False
        parameters.type_k = parameters.type_v = {"f32": api.GGML_TYPE_F32, "f16": api.GGML_TYPE_F16}[kv_dtype]
        parameters.flash_attn_type = {"auto": -1, "off": 0, "on": 1}[flash]
        context = api.llama_init_from_model(self.model_, parameters)
        if not context:
            raise SystemExit("llama.cpp can't make the context")
        return context

    def fill(self, entries: list[tuple[int, int, int, bool]]) -> None:
        """Sets the batch to (token, position, sequence, wants logits)."""
        batch = self.batch_
        batch.n_tokens = len(entries)
        for i, (token, position, sequence, logits) in enumerate(entries):
            batch.token[i] = token
            batch.pos[i] = position
            batch.n_seq_id[i] = 1
            batch.seq_id[i][0] = sequence
            batch.logits[i] = logits

    def decode(self) -> None:
        status = self.api_.llama_decode(self.context_, self.batch_)
        # The results are waited for: llama_decode may return before them.
        self.api_.llama_synchronize(self.context_)
        if status != 0:
            raise SystemExit(f"llama_decode failed with {status}")

    def sample(self, index: int) -> int:
        return self.api_.llama_sampler_sample(self.sampler_, self.context_, index)

    def run(self, response_length: int) -> measure.Phases:
        work, timer = self.work_, measure.Phases()
        self.api_.llama_memory_clear(self.memory_, True)
        with timer.phase("prefill"):
            tokens = self.prefill()
        for position in range(work.prompt_length, work.prompt_length + response_length - 1):
            self.fill([(token, position, sequence, True) for sequence, token in enumerate(tokens)])
            with timer.phase("decode"):
                self.decode()
            with timer.phase("sample"):
                tokens = [self.sample(sequence) for sequence in range(work.sequences)]
        return timer

    def prefill(self) -> list[int]:
        """The first token of every sequence."""
        work, last = self.work_, self.work_.prompt_length - 1
        self.fill([(int(token), position, prompt * work.samples, position == last)
                   for prompt, ids in enumerate(self.prompts_) for position, token in enumerate(ids)])
        self.decode()
        tokens = [self.sample(prompt * work.prompt_length + last)
                  for prompt in range(work.prompts) for _ in range(work.samples)]
        for sequence in range(work.sequences):
            first = sequence // work.samples * work.samples
            if sequence != first:
                self.api_.llama_memory_seq_cp(self.memory_, first, sequence, -1, -1)
        return tokens


def main() -> None:
    parser = measure.arguments(__doc__.splitlines()[0])
    parser.add_argument("--dtype", choices=("f32", "bf16", "f16", "q8_0"), default="f32", help="dtype of the weights")
    parser.add_argument("--kv-dtype", choices=("f32", "f16"), help="default: f32 for f32 weights, else f16")
    parser.add_argument("--flash", choices=("auto", "on", "off"), default="auto", help="flash attention")
    options = parser.parse_args()
    kv_dtype = options.kv_dtype or ("f32" if options.dtype == "f32" else "f16")
    with measure.workload(options) as work, tempfile.TemporaryDirectory() as folder:
        import llama_cpp

        import gguf_model

        path = pathlib.Path(folder) / "model.gguf"
        gguf_model.write(work, options.dtype, path)
        decoder = Decoder(work, path, kv_dtype, options.flash)
        for _ in range(work.warmups):
            decoder.run(WARMUP_TOKENS)
        repeats = [decoder.run(work.response_length) for _ in range(work.repeats)]
        measure.report(work, program="llama_decode", peer=f"llama-cpp-python {llama_cpp.__version__}", bench="decode",
                       dtype=options.dtype, mode=f"kv {kv_dtype}, flash {options.flash}", batch=work.sequences,
                       tokens=work.response_tokens, decode_tokens=work.sequences * (work.response_length - 1),
                       repeats=repeats)


if __name__ == "__main__":
    main()
