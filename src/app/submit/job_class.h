// The kinds of jobs that can be submitted by name, from catalogue/job_classes.yaml.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::submit {

struct JobClass {
  std::string id, what, source;
  bool torchrun = true;
  int64_t cpu_milli_per_gpu = 0, memory_bytes_per_gpu = 0;  // where the person says nothing
  std::vector<std::string> beside;                          // groups that must be given too
};

Result<std::vector<JobClass>> ParseJobClasses(std::string_view yaml, std::string_view file);
// Of this binary's catalogue. kInvalid for an unknown id, with those that there are.
Result<JobClass> FindJobClass(std::string_view id);

}  // namespace muster::submit
