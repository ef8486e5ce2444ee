// The standard error of mpirun: lines of the ranks pass through, its own banners are kept and read.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>

namespace verlc {

struct KilledRank {
  int rank = 0;
  int signal = 0;
};

class JobOutput {
 public:
  /// Takes bytes as they come; whole lines of ranks go to standard error at once.
  void feed(std::string_view bytes);
  /// At the end of the stream: an unfinished last line.
  void finish();
  /// The rank that mpirun saw die of a signal.
  [[nodiscard]] std::optional<KilledRank> killed() const { return killed_; }
  /// A rank told why it failed ("error: rank 1: ...").
  [[nodiscard]] bool told() const { return told_; }
  /// What mpirun itself said between its lines of dashes.
  [[nodiscard]] const std::string& banners() const { return banners_; }

 private:
  void line(const std::string& text);

  std::string partial_;
  std::string banners_;
  bool inside_banner_ = false;
  bool told_ = false;
  std::set<std::string> told_lines_;  // from the first fault on, without the rank's number
  std::optional<KilledRank> killed_;
};

}  // namespace verlc
