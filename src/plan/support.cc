#include "plan/support.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalogue/embedded.h"
#include "yaml/yaml.h"

namespace muster {

namespace {

constexpr Duration kDayLong = std::chrono::hours(24);
constexpr Duration kWarnAfter = kDayLong * 180, kUnknownAfter = kDayLong * 365;

TimePoint DayOf(YamlReader& r, std::string_view key, TimePoint otherwise = {}) {
  const YamlNode* node = r.NeedChild(key);
  if (node == nullptr) return otherwise;
  const auto text = YamlText(*node);
  const auto day = text.ok() ? ParseTime(*text + "T00:00:00Z") : Result<TimePoint>(otherwise);
  if (text.ok() && day.ok()) return *day;
  r.SayAt(*node, fmt::format("{}: expected a day such as 2026-09-09", key));
  return otherwise;
}

class SupportReader {
 public:
  explicit SupportReader(std::string_view file) : file_(file) {}

  Result<SupportMatrix> Read(const YamlNode& root) {
    YamlReader r(root, file_, findings_);
    matrix_.file = std::string(file_);
    matrix_.as_of = DayOf(r, "as_of");
    matrix_.source = r.Text("source");
    for (const YamlNode& node : r.Items("drivers")) {
      YamlReader d(node, file_, findings_);
      matrix_.drivers.push_back({d.Text("branch"), d.Text("kind"), d.Text("source"),
                                 DayOf(d, "end_of_life") + kDayLong, d.Int("cuda")});
      d.Done();
    }
    for (const YamlNode& node : r.Items("operators")) {
      YamlReader o(node, file_, findings_);
      matrix_.operators.push_back(
          {o.Text("release"), o.Text("status"), o.Text("source"), o.TextsOr("kubernetes")});
      const std::string& status = matrix_.operators.back().status;
      if (status != "supported" && status != "deprecated" && status != "ended")
        o.Say("status: expected supported, deprecated or ended");
      o.Done();
    }
    for (const YamlNode& node : r.Items("kernels")) {
      YamlReader k(node, file_, findings_);
      matrix_.kernels.push_back({k.Text("os"), k.Text("source"), k.TextsOr("kernels")});
      k.Done();
    }
    for (const YamlNode& node : r.Items("firmware")) {
      YamlReader f(node, file_, findings_);
      matrix_.firmware.push_back({f.Text("part"), f.Text("follows"), f.Text("source")});
      f.Done();
    }
    r.Done();
    TRY_VOID(ToStatus(findings_));
    return std::move(matrix_);
  }

 private:
  std::string_view file_;
  YamlFindings findings_;
  SupportMatrix matrix_;
};

// "v26.7.1" is of 26.7, "6.8.0-87-generic" of 6.8.
std::string Series(std::string_view version) {
  if (StartsWith(version, "v")) version.remove_prefix(1);
  const size_t first = version.find('.');
  const size_t second = first == std::string_view::npos ? first : version.find('.', first + 1);
  return std::string(version.substr(0, second));
}

bool Has(const std::vector<std::string>& list, const std::string& one) {
  return std::find(list.begin(), list.end(), one) != list.end();
}

class Asker {
 public:
  Asker(const SupportMatrix& matrix, const std::map<std::string, std::string>& versions,
        TimePoint now)
      : matrix_(matrix), versions_(versions), now_(now) {}

  SupportAnswer Ask() {
    Driver();
    Operator();
    Kernel();
    for (const SupportMatrix::Firmware& rule : matrix_.firmware) {
      const std::string &is = Of(rule.part), &wanted = Of(rule.follows);
      if (is.empty() || wanted.empty()) continue;
      Say(is == wanted ? Level::kPass : Level::kFail,
          fmt::format("{} {} with {} {}: they go together only in one version", rule.part, is,
                      rule.follows, wanted));
    }
    const Duration age = now_ - matrix_.as_of;
    const std::string of =
        fmt::format("the support matrix is of {}, {} days old",
                    FormatTime(matrix_.as_of).substr(0, 10), std::max<int64_t>(0, age / kDayLong));
    if (age > kUnknownAfter) {
      Say(Level::kUnknown, of + ": too old to rely on");
    } else if (age > kWarnAfter) {
      Say(Level::kWarn, of);
    }
    answer_.level = worst_;
    answer_.text = worst_ == Level::kPass ? Join(answer_.lines, "; ") : why_;
    if (!Contains(answer_.text, of)) answer_.text += "; " + of;
    return std::move(answer_);
  }

 private:
  const std::string& Of(const std::string& part) const {
    static const std::string kNone;
    const auto it = versions_.find(part);
    return it == versions_.end() ? kNone : it->second;
  }

  void Say(Level level, std::string line) {
    const auto rank = [](Level l) {
      return l == Level::kFail ? 3 : l == Level::kUnknown ? 2 : l == Level::kWarn ? 1 : 0;
    };
    if (rank(level) > rank(worst_)) {
      worst_ = level;
      why_ = line;
    }
    answer_.lines.push_back(std::move(line));
  }

  void Driver() {
    const std::string& driver = Of("driver");
    if (driver.empty()) return Say(Level::kUnknown, "which driver it comes to is not known");
    const std::string branch = driver.substr(0, driver.find('.'));
    const auto it = std::find_if(matrix_.drivers.begin(), matrix_.drivers.end(),
                                 [&](const auto& d) { return d.branch == branch; });
    if (it == matrix_.drivers.end())
      return Say(Level::kUnknown, fmt::format("driver branch {} is not listed", branch));
    if (now_ >= it->end_of_life)
      return Say(Level::kFail,
                 fmt::format("driver branch {} ({}) is at its end of life since {}", branch,
                             it->kind, FormatTime(it->end_of_life).substr(0, 10)));
    Say(Level::kPass, fmt::format("driver branch {} ({}) is supported until {}", branch, it->kind,
                                  FormatTime(it->end_of_life).substr(0, 10)));
    if (Of("cuda").empty()) return;
    const auto major = ParseInt(Of("cuda").substr(0, Of("cuda").find('.')));
    if (!major.ok()) return Say(Level::kUnknown, "cuda: no version: " + Printable(Of("cuda")));
    Say(*major <= it->cuda ? Level::kPass : Level::kFail,
        fmt::format("driver branch {} runs CUDA up to {}, asked for {}", branch, it->cuda,
                    Of("cuda")));
  }

  void Operator() {
    const std::string &version = Of("operator"), &kubernetes = Of("kubernetes");
    if (version.empty()) return;
    const auto it = std::find_if(matrix_.operators.begin(), matrix_.operators.end(),
                                 [&](const auto& o) { return o.release == Series(version); });
    if (it == matrix_.operators.end())
      return Say(Level::kUnknown, fmt::format("GPU Operator {} is not listed", version));
    Say(it->status == "supported"    ? Level::kPass
        : it->status == "deprecated" ? Level::kWarn
                                     : Level::kFail,
        fmt::format("GPU Operator {}: {}", it->release, it->status));
    if (kubernetes.empty()) return;
    if (it->kubernetes.empty())
      return Say(Level::kUnknown,
                 fmt::format("which Kubernetes GPU Operator {} is for is not listed", it->release));
    Say(Has(it->kubernetes, Series(kubernetes)) ? Level::kPass : Level::kFail,
        fmt::format("GPU Operator {} is for Kubernetes {}, this is {}", it->release,
                    Join(it->kubernetes, " "), Series(kubernetes)));
  }

  void Kernel() {
    const std::string &kernel = Of("kernel"), &os = Of("os");
    if (kernel.empty() || os.empty()) return;
    const auto it = std::find_if(matrix_.kernels.begin(), matrix_.kernels.end(),
                                 [&](const auto& k) { return StartsWith(os, k.os); });
    if (it == matrix_.kernels.end())
      return Say(Level::kUnknown, fmt::format("kernels of {} are not listed", Printable(os)));
    Say(Has(it->kernels, Series(kernel)) ? Level::kPass : Level::kFail,
        fmt::format("kernel {} on {}: listed are {}", Series(kernel), it->os,
                    Join(it->kernels, " ")));
  }

  const SupportMatrix& matrix_;
  const std::map<std::string, std::string>& versions_;
  const TimePoint now_;
  SupportAnswer answer_;
  Level worst_ = Level::kPass;
  std::string why_;
};

}  // namespace

Result<SupportMatrix> ParseSupport(std::string_view text, std::string_view file) {
  TRY(const YamlNode root, ParseYaml(text, file));
  if (root.kind != YamlNode::Kind::kMapping)
    return Fail(Code::kInvalid, fmt::format("{}:1:1: expected a mapping: as_of, drivers", file));
  return SupportReader(file).Read(root);
}

Result<SupportMatrix> EmbeddedSupport() {
  const auto text = FindEmbedded("support.yaml");
  if (!text) return Fail(Code::kInternal, "this binary has no support matrix");
  return ParseSupport(*text, "catalogue/support.yaml");
}

SupportAnswer AskSupport(const SupportMatrix& matrix,
                         const std::map<std::string, std::string>& versions, TimePoint now) {
  return Asker(matrix, versions, now).Ask();
}

}  // namespace muster
