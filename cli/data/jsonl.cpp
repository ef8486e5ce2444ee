#include "data/jsonl.hpp"

namespace verlc {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kBlanks = " \t\r";

}  // namespace

std::string shown_json(const OrderedJson& value) {
  return value.dump(-1, ' ', false, OrderedJson::error_handler_t::replace);
}

void for_each_row(std::string_view bytes, RowProblems& problems,
                  const std::function<void(size_t, std::string_view, const OrderedJson&)>& visit) {
  if (bytes.starts_with("PAR1")) {
    problems.add(0, "", "is a Parquet file, rows are read from JSONL", "",
                 "convert it: one JSON object per line");
    return;
  }
  if (bytes.starts_with(kByteOrderMark)) bytes.remove_prefix(kByteOrderMark.size());
  size_t rows = 0;
  for (size_t number = 1; !bytes.empty(); ++number) {
    const size_t end = std::min(bytes.find('\n'), bytes.size());
    const std::string_view line = bytes.substr(0, end);
    bytes.remove_prefix(std::min(end + 1, bytes.size()));
    if (line.find_first_not_of(kBlanks) == std::string_view::npos) continue;
    ++rows;
    const ParsedLine parsed = parse_json_line(line);
    if (!parsed.problem.empty()) {
      problems.add(number, "", parsed.problem, "", "each line holds one whole JSON object");
    } else if (!parsed.value.is_object()) {
      problems.add(number, "", "is not a JSON object", shown_json(parsed.value),
                   "each line holds one whole JSON object");
    } else {
      visit(number, line, parsed.value);
    }
  }
  if (rows == 0) problems.add(0, "", "holds no rows", "", "give a file with one JSON object per line");
}

}  // namespace verlc
