#include "launch/job_output.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace verlc {
namespace {

constexpr size_t kBannerWidth = 60;

bool is_banner_edge(const std::string& text) {
  return text.size() >= kBannerWidth &&
         std::all_of(text.begin(), text.end(), [](char c) { return c == '-'; });
}

// The number after `key` in `text`; -1 when there is none.
int number_after(const std::string& text, const std::string& key) {
  const size_t at = text.find(key);
  return at == std::string::npos ? -1 : std::atoi(text.c_str() + at + key.size());
}

bool is_own_chatter(const std::string& text) {
  return text.find("more process") != std::string::npos &&
         text.find("sent help message") != std::string::npos;
}

}  // namespace

void JobOutput::feed(std::string_view bytes) {
  for (const char c : bytes) {
    if (c != '\n') {
      partial_ += c;
      continue;
    }
    line(partial_);
    partial_.clear();
  }
}

void JobOutput::finish() {
  if (!partial_.empty()) line(partial_);
  partial_.clear();
}

void JobOutput::line(const std::string& text) {
  const int rank = number_after(text, "noticed that process rank ");
  const int signal = number_after(text, "exited on signal ");
  if (rank >= 0 && signal > 0 && !killed_) killed_ = KilledRank{rank, signal};
  if (is_banner_edge(text)) {
    inside_banner_ = !inside_banner_;
    return;
  }
  if (inside_banner_ || is_own_chatter(text)) {
    banners_ += text + "\n";
    return;
  }
  if (text.starts_with("rank ")) told_ = true;
  const std::string whole = text + "\n";
  std::fwrite(whole.data(), 1, whole.size(), stderr);
}

}  // namespace verlc
