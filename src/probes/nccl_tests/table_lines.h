// The lines of an nccl-tests table once everything around them is off: tags of job runners, and
// NCCL's own log, which shares the stream and may begin in the middle of a row.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "probes/nccl_tests/collective_run.h"

namespace muster::nccl_tests {

// The line without "[1,0]<stdout>:", "rank3: ", "node-07: ", a time stamp or "|" columns before it.
std::string_view WithoutRunnerTag(std::string_view line);

// What stands before an NCCL log message that begins in this line (empty when the line is all
// message); nothing when there is none. "  8  2  float  sum  -1node:1:2 [0] NCCL INFO Connected"
// gives "  8  2  float  sum  -1".
std::optional<std::string_view> BeforeLogMessage(std::string_view line);

// Where the columns of the table are, by name.
class Columns {
 public:
  // The header that names them ("# size count type redop root time algbw busbw #wrong time ...");
  // nothing for another line.
  static std::optional<Columns> FromHeader(std::string_view line);
  // How many fields a full row has at most; a timestamp is two.
  size_t most() const { return lead_ + halves_[0].size() + halves_[1].size() + tail_; }
  size_t least() const { return most() - (lead_ - 2); }
  // kParse, saying which field, when the fields are not one whole row of numbers that agree with
  // each other.
  Result<CollectiveRow> ReadRow(const std::vector<std::string_view>& fields) const;

 private:
  enum class Field { kTime, kCpuTime, kAlgbw, kBusbw, kWrong, kError, kOther };
  Result<Timing> ReadHalf(uint64_t bytes, const std::vector<Field>& names,
                          const std::string_view* fields) const;

  size_t lead_ = 0;               // size, count and the text columns
  std::vector<Field> halves_[2];  // the second is empty when only one half is printed
  size_t tail_ = 0;
};

}  // namespace muster::nccl_tests
