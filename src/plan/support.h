// The support matrix: which driver, CUDA, operator, Kubernetes, kernel and firmware go together, as
// their makers say, and how old that word is. Data in catalogue/support.yaml or beside the site
// file. Pure.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "evidence/verdict.h"

namespace muster {

struct SupportMatrix {
  TimePoint as_of;
  std::string source, file;
  struct Driver {
    std::string branch, kind, source;
    TimePoint end_of_life;  // the first moment after its last day
    int64_t cuda = 0;       // the highest major version
  };
  struct Operator {
    std::string release, status, source;  // "supported", "deprecated", "ended"
    std::vector<std::string> kubernetes;  // "1.33"; empty = not known here
  };
  struct Kernels {
    std::string os, source;
    std::vector<std::string> kernels;  // "6.8"
  };
  struct Firmware {
    std::string part, follows, source;
  };
  std::vector<Driver> drivers;
  std::vector<Operator> operators;
  std::vector<Kernels> kernels;
  std::vector<Firmware> firmware;
};

// kInvalid with one "file:line:column: what" a line.
Result<SupportMatrix> ParseSupport(std::string_view text, std::string_view file);
Result<SupportMatrix> EmbeddedSupport();

struct SupportAnswer {
  Level level = Level::kUnknown;
  std::string text;  // one sentence of the worst, and how old the matrix is
  std::vector<std::string> lines;
};
// `versions` by part: "driver" (needed), "cuda", "operator", "kubernetes", "kernel" with "os", and
// parts of `firmware`; what is absent does not apply. FAIL: known not to go together, or at its end
// of life. UNKNOWN: not listed, or the matrix is over a year old. WARN: deprecated, or over half a
// year old.
SupportAnswer AskSupport(const SupportMatrix& matrix,
                         const std::map<std::string, std::string>& versions, TimePoint now);

}  // namespace muster
