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
  const auto has = [&](const char* words) { return text.find(words) != std::string::npos; };
  return (has("more process") && has("sent help message")) ||
         (text.starts_with("[") && (has("ORTE_ERROR_LOG") || has("orte_base_help_aggregate")));
}

constexpr std::string_view kFault = "error: rank ";

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
  const bool fault = text.starts_with(kFault);
  told_ = told_ || fault;
  // A fault that every rank meets is told once, without regard to the rank's number.
  const size_t colon = fault ? text.find(": ", kFault.size()) : std::string::npos;
  if (told_ && !told_lines_.insert(colon == std::string::npos ? text : text.substr(colon)).second) return;
  const std::string whole = text + "\n";
  std::fwrite(whole.data(), 1, whole.size(), stderr);
}

}  // namespace verlc
