#include "pipeline/exchange_samples.hpp"

#include <algorithm>
#include <cstring>

#include "core/base/check.hpp"

namespace verlc::pipeline {
namespace {

// Same program on every rank, and ranks of one job have one byte order: values travel as they lie in memory.
template <typename T>
void put(std::string& out, const T& value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

template <typename T>
void put_array(std::string& out, const std::vector<T>& values) {
  put(out, static_cast<uint64_t>(values.size()));
  out.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T));
}

class Reader {
 public:
  explicit Reader(std::string_view bytes) : left_(bytes) {}
  [[nodiscard]] bool done() const { return left_.empty(); }

  template <typename T>
  T value() {
    T result;
    take(&result, sizeof result);
    return result;
  }
  template <typename T>
  std::vector<T> array() {
    const auto count = value<uint64_t>();
    check(count <= left_.size() / sizeof(T), "an array of travelling samples lies within its message");
    std::vector<T> result(static_cast<size_t>(count));
    take(result.data(), result.size() * sizeof(T));
    return result;
  }

 private:
  void take(void* to, size_t bytes) {
    check(bytes <= left_.size(), "travelling samples are whole");
    if (bytes > 0) std::memcpy(to, left_.data(), bytes);
    left_.remove_prefix(bytes);
  }
  std::string_view left_;
};

void put_prompt(std::string& out, const Prompt& prompt) {
  put(out, prompt.uid);
  put(out, static_cast<uint64_t>(prompt.row));
  put(out, static_cast<uint64_t>(prompt.place));
  put_array(out, prompt.tokens);
}

std::shared_ptr<const Prompt> read_prompt(Reader& in) {
  Prompt prompt;
  prompt.uid = in.value<uint64_t>();
  prompt.row = static_cast<size_t>(in.value<uint64_t>());
  prompt.place = static_cast<size_t>(in.value<uint64_t>());
  prompt.tokens = in.array<int32_t>();
  return std::make_shared<const Prompt>(std::move(prompt));
}

}  // namespace

std::string write_samples(std::span<const Sample* const> samples) {
  std::string out;
  for (size_t i = 0; i < samples.size(); ++i) {
    const Sample& sample = *samples[i];
    const uint8_t same_prompt = i > 0 && samples[i - 1]->prompt->uid == sample.prompt->uid ? 1 : 0;
    put(out, same_prompt);
    if (same_prompt == 0) put_prompt(out, *sample.prompt);
    put(out, sample.number);
    put(out, static_cast<int32_t>(sample.finish));
    put(out, static_cast<uint8_t>(sample.scored ? 1 : 0));
    put(out, sample.score);
    put_array(out, sample.response);
    put_array(out, sample.logp);
  }
  return out;
}

std::vector<Sample> read_samples(std::string_view bytes) {
  std::vector<Sample> samples;
  Reader in(bytes);
  while (!in.done()) {
    Sample sample;
    const bool same_prompt = in.value<uint8_t>() != 0;
    check(!same_prompt || !samples.empty(), "the first of travelling samples brings its prompt");
    sample.prompt = same_prompt ? samples.back().prompt : read_prompt(in);
    sample.number = in.value<uint64_t>();
    sample.finish = static_cast<Finish>(in.value<int32_t>());
    sample.scored = in.value<uint8_t>() != 0;
    sample.score = in.value<double>();
    sample.response = in.array<int32_t>();
    sample.logp = in.array<float>();
    samples.push_back(std::move(sample));
  }
  return samples;
}

std::vector<Sample> exchange_samples(std::vector<Sample> samples, std::span<const size_t> destinations,
                                     ProcessGroup& group) {
  check(destinations.size() == samples.size(), "every sample has a destination");
  const auto ranks = static_cast<size_t>(group.size()), own = static_cast<size_t>(group.rank());
  std::vector<std::vector<const Sample*>> leaving(ranks);
  for (size_t i = 0; i < samples.size(); ++i)
    if (destinations[i] != own) leaving[destinations[i]].push_back(&samples[i]);
  std::string outgoing;
  std::vector<int64_t> send_counts(ranks), receive_counts(ranks);
  for (size_t r = 0; r < ranks; ++r) {
    const size_t before = outgoing.size();
    outgoing += write_samples(leaving[r]);
    send_counts[r] = static_cast<int64_t>(outgoing.size() - before);
  }
  const std::vector<int64_t> all_counts = group.all_gather(std::span<const int64_t>(send_counts));
  size_t arriving = 0;
  for (size_t r = 0; r < ranks; ++r) {
    receive_counts[r] = all_counts[r * ranks + own];
    arriving += static_cast<size_t>(receive_counts[r]);
  }
  std::vector<uint8_t> incoming(arriving);
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(outgoing.data()), outgoing.size());
  group.wait(group.start_all_to_all(comm_buffer(bytes), send_counts,
                                    comm_buffer(std::span<uint8_t>(incoming)), receive_counts));
  std::vector<Sample> here;
  for (size_t i = 0; i < samples.size(); ++i)
    if (destinations[i] == own) here.push_back(std::move(samples[i]));
  size_t begin = 0;
  for (const int64_t count : receive_counts) {
    const std::string_view part(reinterpret_cast<const char*>(incoming.data()) + begin,
                                static_cast<size_t>(count));
    for (Sample& sample : read_samples(part)) here.push_back(std::move(sample));
    begin += static_cast<size_t>(count);
  }
  std::sort(here.begin(), here.end(), [](const Sample& a, const Sample& b) {
    return a.prompt->place != b.prompt->place ? a.prompt->place < b.prompt->place : a.number < b.number;
  });
  return here;
}

}  // namespace verlc::pipeline
