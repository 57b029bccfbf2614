#include "probes/nccl_tests/table_lines.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/nccl_tests/sweep_check.h"

namespace muster::nccl_tests {
namespace {

bool AllDigits(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(),
                                      [](unsigned char c) { return std::isdigit(c) != 0; });
}

// "host:pid:tid"
bool IsProcessTag(std::string_view token) {
  const size_t last = token.rfind(':');
  if (last == std::string_view::npos || last == 0 || !AllDigits(token.substr(last + 1)))
    return false;
  const size_t before = token.rfind(':', last - 1);
  return before != std::string_view::npos && before > 0 &&
         AllDigits(token.substr(before + 1, last - before - 1));
}

bool IsTimeStamp(std::string_view token) {
  return token.size() >= 19 && AllDigits(token.substr(0, 4)) && token[4] == '-' && token[10] == 'T';
}

}  // namespace

std::string_view WithoutRunnerTag(std::string_view line) {
  for (int i = 0; i < 4; ++i) {
    const std::string_view rest = Trim(line);
    const std::string_view first = rest.substr(0, rest.find_first_of(" \t"));
    const size_t tag = first.find(">:");
    if (first.starts_with('[') && tag != std::string_view::npos) {
      line = rest.substr(tag + 2);
    } else if (first == "|" || IsTimeStamp(first) ||
               (first.size() > 1 && first.ends_with(':') && !first.starts_with('#') &&
                !IsProcessTag(first))) {
      line = rest.substr(first.size());
    } else {
      break;
    }
  }
  return line;
}

std::optional<std::string_view> BeforeLogMessage(std::string_view line) {
  size_t at = line.find("NCCL INFO ");
  if (at == std::string_view::npos) at = line.find("NCCL WARN ");
  if (at == std::string_view::npos) return std::nullopt;
  const std::string_view head = line.substr(0, at);
  const auto tokens = SplitBlank(head);
  for (size_t i = tokens.size(); i-- > 0;) {
    if (!IsProcessTag(tokens[i])) continue;
    size_t start = static_cast<size_t>(tokens[i].data() - head.data());
    // A row that was begun ends in its root or its redop, and the log message is glued to it.
    if (i >= 3) {
      for (std::string_view end :
           {"-1", "sum", "prod", "max", "min", "avg", "none", "mulsum", "all"}) {
        if (tokens[i].starts_with(end) && tokens[i].size() > end.size() &&
            tokens[i][end.size()] != ':') {
          start += end.size();
          break;
        }
      }
    }
    return head.substr(0, start);
  }
  return head.substr(0, 0);
}

std::optional<Columns> Columns::FromHeader(std::string_view line) {
  std::string_view text = Trim(line);
  if (!text.starts_with('#')) return std::nullopt;
  text.remove_prefix(1);
  const auto names = SplitBlank(text);
  if (names.size() < 5 || names[0] != "size" || names[1] != "count") return std::nullopt;
  Columns columns;
  int half = -1;
  for (std::string_view name : names) {
    if (name == "time" || name == "cputime") {
      if (++half > 1) return std::nullopt;
    }
    if (half < 0) {
      ++columns.lead_;
      continue;
    }
    if (name == "timestamp") {
      columns.tail_ += 2;
      continue;
    }
    auto& fields = columns.halves_[half];
    if (name == "time") {
      fields.push_back(Field::kTime);
    } else if (name == "cputime") {
      fields.push_back(Field::kCpuTime);
    } else if (name == "algbw") {
      fields.push_back(Field::kAlgbw);
    } else if (name == "busbw") {
      fields.push_back(Field::kBusbw);
    } else if (name == "#wrong" || name == "wrong") {
      fields.push_back(Field::kWrong);
    } else if (name == "error") {
      fields.push_back(Field::kError);
    } else {
      fields.push_back(Field::kOther);  // -I: i_min, i_max, i_p99, i_cv%
    }
  }
  const auto has = [&columns](int which, Field field) {
    const auto& fields = columns.halves_[which];
    return std::find(fields.begin(), fields.end(), field) != fields.end();
  };
  if (half < 0 || !has(0, Field::kBusbw) || !has(0, Field::kAlgbw)) return std::nullopt;
  if (half == 1 && (!has(1, Field::kBusbw) || !has(1, Field::kAlgbw))) return std::nullopt;
  return columns;
}

Result<Timing> Columns::ReadHalf(uint64_t bytes, const std::vector<Field>& names,
                                 const std::string_view* fields) const {
  Timing timing;
  Printed time, algbw;
  bool wall_time = false;
  for (size_t i = 0; i < names.size(); ++i) {
    const std::string_view text = fields[i];
    if (names[i] == Field::kOther) continue;
    const bool check = names[i] == Field::kWrong || names[i] == Field::kError;
    if (check && text == "N/A") continue;
    TRY(const Printed number, ReadPrinted(text));
    switch (names[i]) {
      case Field::kTime:
        wall_time = true;
        time = number;
        timing.time_us = number.value;
        break;
      case Field::kCpuTime:
        timing.time_us = number.value;
        break;
      case Field::kAlgbw:
        algbw = number;
        timing.algbw = number.value;
        break;
      case Field::kBusbw:
        timing.busbw = number.value;
        break;
      case Field::kWrong:
        timing.wrong = number.value;
        break;
      case Field::kError:
        // The largest deviation, not a count: rounding alone makes it positive. The closing line
        // counts.
        timing.wrong = 0;
        break;
      case Field::kOther:
        break;
    }
  }
  if (wall_time && !Agrees(bytes, time, algbw)) {
    return Fail(Code::kParse,
                fmt::format("{} B in {} us is not {} GB/s", bytes, timing.time_us, timing.algbw));
  }
  return timing;
}

Result<CollectiveRow> Columns::ReadRow(const std::vector<std::string_view>& fields) const {
  const size_t numbers = halves_[0].size() + halves_[1].size() + tail_;
  if (fields.size() > most() || fields.size() < least()) {
    return Fail(Code::kParse,
                fmt::format("{} fields where a row has {} to {}", fields.size(), least(), most()));
  }
  const size_t lead = fields.size() - numbers;
  CollectiveRow row;
  TRY(const int64_t bytes, ParseInt(fields[0]));
  TRY(const int64_t count, ParseInt(fields[1]));
  if (bytes < 0 || count < 0) return Fail(Code::kParse, "a negative size");
  row.bytes = static_cast<uint64_t>(bytes);
  row.count = static_cast<uint64_t>(count);
  for (size_t i = 2; i < lead; ++i) {
    const bool number = ParseInt(fields[i]).ok();
    if (number) {
      row.root = fields[i];
    } else if (row.type.empty()) {
      row.type = fields[i];
    } else {
      row.redop = fields[i];
    }
  }
  if (lead > 2 && row.type.empty()) return Fail(Code::kParse, "a row without its data type");
  TRY(row.out_of_place, ReadHalf(row.bytes, halves_[0], fields.data() + lead));
  if (!halves_[1].empty()) {
    TRY(row.in_place, ReadHalf(row.bytes, halves_[1], fields.data() + lead + halves_[0].size()));
  }
  return row;
}

}  // namespace muster::nccl_tests
