// Stop strings through a real tokenizer: a folder whose token i is one or two letters.
#include <unistd.h>

#include "core/base/file.hpp"
#include "unit/rollout_engine/engine_fixture.hpp"
#include "unit/rollout_engine/reference.hpp"

using namespace verlc;
using namespace verlc::rollout;
using namespace verlc::rollout::test;

namespace {

std::string piece(int32_t id) {
  const std::string first(1, static_cast<char>('a' + id % 26));
  return id < 26 ? first : first + static_cast<char>('A' + id / 26);
}

/// A copy of a golden model with a tokenizer; removed at the end.
class ModelWithText {
 public:
  ModelWithText()
      : folder(std::filesystem::temp_directory_path() / ("verlc_stop_" + std::to_string(::getpid()))) {
    std::filesystem::create_directories(folder);
    for (const char* name : {"config.json", "model.safetensors"})
      std::filesystem::copy_file(kGolden / "llama_llama3" / name, folder / name,
                                 std::filesystem::copy_options::overwrite_existing);
    Json vocab = Json::object();
    for (int32_t id = 0; id < 112; ++id) vocab[piece(id)] = id;
    const Json tokenizer = {
        {"version", "1.0"},
        {"added_tokens", Json::array()},
        {"normalizer", nullptr},
        {"pre_tokenizer",
         {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"trim_offsets", true}, {"use_regex", true}}},
        {"post_processor", nullptr},
        {"decoder",
         {{"type", "ByteLevel"}, {"add_prefix_space", true}, {"trim_offsets", true}, {"use_regex", true}}},
        {"model", {{"type", "BPE"}, {"vocab", vocab}, {"merges", Json::array()}}}};
    write_file(folder / "tokenizer.json", tokenizer.dump());
  }
  ~ModelWithText() { std::filesystem::remove_all(folder); }
  std::filesystem::path folder;
};

}  // namespace

TEST_CASE("a stop string ends the response with the token that completes it, also across tokens") {
  const ModelWithText model;
  FakeHost host(2);
  TestEngine engine(host, {{"model", model.folder.string()}, {"max_model_len", 64}});
  std::vector<Request> requests = make_requests(112, 4, 2, 10, 40);
  for (Request& request : requests) request.sampling.ignore_eos = true;
  const Responses free = engine.generate(requests);
  for (Request& request : requests) {
    const std::vector<int32_t>& tokens = free.at(request.id).tokens;
    // The end of one token and the beginning of the next.
    request.sampling.stop_strings = {
        "never", piece(tokens[20]).substr(piece(tokens[20]).size() - 1) + piece(tokens[21]).substr(0, 1)};
  }
  for (const auto& [id, response] : engine.generate(requests)) {
    const Request& request =
        *std::find_if(requests.begin(), requests.end(),
                      [&, wanted = id](const Request& each) { return each.id == wanted; });
    const std::string& stop = request.sampling.stop_strings[1];
    REQUIRE(response.finish == Finish::stop);
    REQUIRE(response.tokens.size() <= 22);
    const std::vector<int32_t>& all = free.at(id).tokens;
    REQUIRE(response.tokens ==
            std::vector<int32_t>(all.begin(), all.begin() + static_cast<ptrdiff_t>(response.tokens.size())));
    std::string text;
    for (size_t i = 0; i + 1 < response.tokens.size(); ++i) text += piece(response.tokens[i]);
    REQUIRE(text.find(stop) == std::string::npos);
    text += piece(response.tokens.back());
    REQUIRE(text.find(stop) != std::string::npos);
  }
}
