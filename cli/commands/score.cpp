// verlc score: log-probs of given texts or token ids, token by token.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>

#include "commands/command.hpp"
#include "core/base/error.hpp"
#include "core/base/file.hpp"
#include "core/models/model_config.hpp"
#include "data/json_line.hpp"
#include "pipeline/engines.hpp"
#include "pipeline/packed_samples.hpp"
#include "pipeline/text_codec.hpp"

namespace verlc {
namespace {

// Tokens of one forward call; bounds memory, not results.
constexpr size_t kTokensPerCall = 4096;

struct ScoreOptions {
  std::string model, input, output;
  double temperature = 1.0;
  int threads = 0;
};

[[noreturn]] void refuse(const std::string& where, const std::string& what, const std::string& value) {
  fail_input({.what = what,
              .where = where,
              .value = value,
              .fix = "a row is {\"text\": \"...\"} or {\"token_ids\": [1, 2]}"});
}

std::vector<int32_t> row_tokens(const OrderedJson& row, const std::string& where,
                                const pipeline::TextCodec& codec, int64_t vocab) {
  if (row.contains("text") && row["text"].is_string())
    return codec.encode_text(row["text"].get<std::string>());
  if (!row.contains("token_ids") || !row["token_ids"].is_array())
    refuse(where, "has neither text nor token_ids", {});
  std::vector<int32_t> tokens;
  for (const OrderedJson& id : row["token_ids"]) {
    if (!id.is_number_integer() || id.get<int64_t>() < 0 || id.get<int64_t>() >= vocab)
      refuse(where + ": token_ids", "is no id of the vocabulary of " + std::to_string(vocab), id.dump());
    tokens.push_back(id.get<int32_t>());
  }
  return tokens;
}

std::vector<pipeline::MaskedTokens> read_rows(const ScoreOptions& options, const pipeline::TextCodec& codec,
                                              int64_t vocab) {
  const std::string bytes = read_file(options.input);
  std::vector<pipeline::MaskedTokens> rows;
  size_t line = 0;
  for (size_t begin = 0; begin < bytes.size();) {
    const size_t end = std::min(bytes.find('\n', begin), bytes.size());
    const std::string where = options.input + ":" + std::to_string(++line);
    const std::string_view text = std::string_view(bytes).substr(begin, end - begin);
    begin = end + 1;
    if (text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
    const ParsedLine parsed = parse_json_line(text);
    if (!parsed.problem.empty() || !parsed.value.is_object())
      refuse(where, parsed.problem.empty() ? "is not a JSON object" : parsed.problem, {});
    pipeline::MaskedTokens row{row_tokens(parsed.value, where, codec, vocab), {}};
    row.mask.assign(row.tokens.size(), 1);
    if (!row.mask.empty()) row.mask.front() = 0;
    rows.push_back(std::move(row));
  }
  return rows;
}

void write_rows(AtomicFile& file, const pipeline::PackedSamples& batch, std::span<const float> logp) {
  for (size_t s = 0; s < batch.num_sequences(); ++s) {
    nlohmann::json ids = nlohmann::json::array(), values = nlohmann::json::array();
    for (auto t = static_cast<size_t>(batch.bounds[s]); t < static_cast<size_t>(batch.bounds[s + 1]); ++t) {
      ids.push_back(batch.tokens[t]);
      values.push_back(batch.mask[t] != 0 ? nlohmann::json(logp[t]) : nlohmann::json());
    }
    file.write(nlohmann::json{{"token_ids", ids}, {"logprobs", values}}.dump() + "\n");
  }
}

int score(const ScoreOptions& options) {
  const ModelConfig model = read_model_config(options.model);
  const pipeline::TextCodec codec(options.model, options.model, false, {}, {});
  const std::vector<pipeline::MaskedTokens> rows = read_rows(options, codec, model.vocab);
  pipeline::SessionOptions session_options;
  session_options.join.threads_per_rank = options.threads;
  pipeline::Session session(session_options);
  const auto engine =
      pipeline::make_train_engine(session, "fsdp", pipeline::frozen_config(options.model, "checkpoint"));
  AtomicFile file(options.output);
  size_t tokens = 0;
  for (size_t begin = 0; begin < rows.size();) {
    size_t end = begin, count = 0;
    do count += rows[end++].tokens.size();
    while (end < rows.size() && count + rows[end].tokens.size() <= kTokensPerCall);
    pipeline::PackedSamples batch = pipeline::pack_sequences(std::span(rows).subspan(begin, end - begin));
    std::fill(batch.temperature.begin(), batch.temperature.end(), static_cast<float>(options.temperature));
    std::vector<float> logp(batch.num_tokens());
    engine->forward_logp(batch.batch(0, 0), logp);
    write_rows(file, batch, logp);
    tokens += count;
    begin = end;
  }
  file.commit();
  fmt::print("{}: {} rows, {} tokens\n", options.output, rows.size(), tokens);
  return exit_done;
}

}  // namespace

void command_score(CommandRegistry& registry) {
  const auto options = std::make_shared<ScoreOptions>();
  CLI::App& app = registry.add("score", "log-probs of texts or token ids under a Hugging Face model folder",
                               [options] { return score(*options); });
  app.add_option("--model", options->model, "Hugging Face folder")->required();
  app.add_option("--input", options->input, "JSONL rows with text or token_ids")->required();
  app.add_option("--output", options->output,
                 "JSONL rows with token_ids and logprobs (null for the first token)")
      ->required();
  app.add_option("--temperature", options->temperature, "divides the logits")->check(CLI::Range(1e-6, 1e6));
  app.add_option("--threads", options->threads, "0 = all cores");
}

}  // namespace verlc
