// verlc generate: text from a Hugging Face folder.
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands/command.hpp"
#include "core/base/error.hpp"
#include "pipeline/engines.hpp"
#include "pipeline/text_codec.hpp"

namespace verlc {
namespace {

struct GenerateOptions {
  std::string model, prompt, chat;
  SamplingParameters sampling;
  uint64_t seed = 1;
  int samples = 1;
  int threads = 0;
  bool json = false;
};

const char* finish_name(Finish finish) {
  switch (finish) {
    case Finish::stop:
      return "stop";
    case Finish::length:
      return "length";
    case Finish::aborted:
      return "aborted";
    case Finish::error:
      break;
  }
  return "error";
}

void print_completion(const Completion& completion, const pipeline::TextCodec& codec, bool json) {
  const std::string text = codec.decode(completion.tokens);
  if (!json) {
    fmt::print("{}\n", text);
    return;
  }
  const nlohmann::json line = {{"text", text},
                               {"token_ids", completion.tokens},
                               {"logprobs", completion.logp},
                               {"finish_reason", finish_name(completion.finish)}};
  fmt::print("{}\n", line.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
}

int generate(const GenerateOptions& options) {
  const bool chat = !options.chat.empty();
  const pipeline::TextCodec codec(options.model, options.model, chat, {}, {});
  const std::vector<int32_t> prompt =
      chat ? codec.encode_chat(options.chat) : codec.encode_text(options.prompt);
  if (prompt.empty())
    fail_input({.what = "the prompt has no tokens",
                .where = "--prompt",
                .value = options.prompt,
                .fix = "give some text"});
  pipeline::SessionOptions session_options;
  session_options.join.threads_per_rank = options.threads;
  pipeline::Session session(session_options);
  session.cancel().install_handlers();
  const nlohmann::json config = {
      {"model", options.model},
      {"max_num_seqs", options.samples},
      {"max_model_len", static_cast<int64_t>(prompt.size()) + options.sampling.max_new_tokens}};
  const auto engine = pipeline::make_rollout_engine(session, "rollout", config.dump());
  std::vector<RolloutRequest> requests;
  for (int i = 0; i < options.samples; ++i)
    requests.push_back({static_cast<uint64_t>(i) + 1, options.seed + static_cast<uint64_t>(i), 1, prompt,
                        &options.sampling, 0});
  if (engine->submit(requests) != requests.size())
    fail_run({.what = "the engine's queue is full",
              .where = "rollout",
              .value = {},
              .fix = "ask for fewer samples"});
  std::vector<Completion> done;
  while (engine->poll(done) != Outcome::end) {
  }
  std::sort(done.begin(), done.end(), [](const Completion& a, const Completion& b) { return a.id < b.id; });
  for (const Completion& completion : done) print_completion(completion, codec, options.json);
  return session.cancel().requested() ? exit_interrupted : exit_done;
}

}  // namespace

void command_generate(CommandRegistry& registry) {
  const auto options = std::make_shared<GenerateOptions>();
  options->sampling.temperature = 0;
  CLI::App& app = registry.add("generate", "generate text with a Hugging Face model folder",
                               [options] { return generate(*options); });
  app.add_option("--model", options->model, "Hugging Face folder")->required();
  CLI::Option* prompt = app.add_option("--prompt", options->prompt, "text to continue");
  CLI::Option* chat =
      app.add_option("--chat", options->chat, "message of a user, put into the chat template");
  prompt->excludes(chat);
  app.add_option("--max-new-tokens", options->sampling.max_new_tokens, "longest response, tokens")
      ->check(CLI::Range(1, 1 << 20));
  app.add_option("--temperature", options->sampling.temperature, "0 = greedy")->check(CLI::Range(0.0, 100.0));
  app.add_option("--top-p", options->sampling.top_p, "nucleus, 1 = off")->check(CLI::Range(1e-6, 1.0));
  app.add_option("--top-k", options->sampling.top_k, "0 = off");
  app.add_option("--min-p", options->sampling.min_p, "0 = off")->check(CLI::Range(0.0, 1.0));
  app.add_option("--repetition-penalty", options->sampling.repetition_penalty, "1 = off")
      ->check(CLI::Range(1e-3, 100.0));
  app.add_option("--stop", options->sampling.stop_strings, "end the response at this text (repeatable)");
  app.add_option("--seed", options->seed, "of the first sample");
  app.add_option("-n,--samples", options->samples, "responses to generate")->check(CLI::Range(1, 1024));
  app.add_option("--threads", options->threads, "0 = all cores");
  app.add_flag("--json", options->json,
               "one JSON object per response: text, token_ids, logprobs, finish_reason");
}

}  // namespace verlc
