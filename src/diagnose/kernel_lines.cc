#include "diagnose/kernel_lines.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/speaker.h"
#include "probes/kernel_log/kernel_log.h"
#include "probes/kernel_log/xid_table.h"

namespace muster::diagnose {

namespace {

std::string_view IdOf(kernel_log::EventKind kind) {
  using K = kernel_log::EventKind;
  switch (kind) {
    case K::kXid:
      return "xid";
    case K::kSxid:
      return "sxid";
    case K::kFallenOff:
      return "gpu.fallen_off";
    case K::kGpuIdentity:
      return "gpu.identity";
    case K::kGspNoise:
      return "gpu.gsp_noise";
    case K::kAer:
      return "pcie.aer";
    case K::kMlx5Port:
      return "nic.port";
    case K::kOutOfMemory:
      return "node.out_of_memory";
    case K::kPeermem:
      return "gpu.peermem_noise";
    case K::kNcclCrash:
      return "nccl.crash";
    case K::kGpuReset:
      return "gpu.reset_mark";
  }
  return "kernel";
}

}  // namespace

void ClassifyXid(Fact& fact) {
  const auto code = ParseInt(fact.Get("code"));
  if (!code.ok()) return;
  const auto* entry = kernel_log::FindXid(static_cast<int>(*code));
  fact.Set("class", entry == nullptr ? "unknown" : entry->klass);
  if (!fact.Get("fatal").empty()) return;
  const bool yes = entry != nullptr && entry->fatal == kernel_log::XidFatal::kYes;
  const bool by_line = entry != nullptr && entry->fatal == kernel_log::XidFatal::kByLine;
  fact.Set("fatal", yes ? "yes" : by_line ? "by_line" : "no");
}

bool ReadKernelLine(std::string_view line, const std::string& file, size_t number,
                    FactStore& facts) {
  const auto log = kernel_log::ParseKernelLog(line);
  for (const kernel_log::Event& e : log.events) {
    // A note that quotes the driver is no line of it.
    if (e.kind == kernel_log::EventKind::kFallenOff && e.pci.empty() &&
        !Contains(ToLower(line), "nvrm") && !Contains(ToLower(line), "nvidia"))
      continue;
    Fact fact{std::string(IdOf(e.kind)),
              {},
              {file, number},
              Shorten(Printable(Trim(line)), kTextBytes),
              {},
              0,
              1};
    fact.Set("pci", e.pci);
    if (e.code != 0) fact.Set("code", std::to_string(e.code));
    if (e.severity == kernel_log::Severity::kFatal) fact.Set("fatal", "yes");
    if (e.severity == kernel_log::Severity::kNonFatal) fact.Set("fatal", "no");
    if (e.link) fact.Set("link", std::to_string(*e.link));
    fact.Set("unit", e.unit);
    if (e.caused_by) fact.Set("caused_by", std::to_string(*e.caused_by));
    if (e.recovery) fact.Set("recovery", std::to_string(*e.recovery));
    if (e.kind == kernel_log::EventKind::kXid) {
      ClassifyXid(fact);
    } else if (e.kind == kernel_log::EventKind::kOutOfMemory) {
      fact.Set("process", e.process);
    } else if (e.kind == kernel_log::EventKind::kMlx5Port) {
      const std::string lower = ToLower(line);
      fact.Set("state", Contains(lower, "down")     ? "down"
                        : Contains(lower, "active") ? "active"
                        : Contains(lower, " up")    ? "up"
                                                    : "other");
    } else if (e.kind == kernel_log::EventKind::kAer) {
      const std::string lower = ToLower(line);
      fact.Set("severity", Contains(lower, "containment") || Contains(lower, "link down") ||
                                   Contains(lower, "card not present") ||
                                   (Contains(lower, "uncorrect") && Contains(lower, "(fatal)"))
                               ? "fatal"
                           : Contains(lower, "uncorrect") ? "uncorrectable"
                                                          : "corrected");
    }
    Attach(ReadSpeaker(line), fact);
    facts.Add(std::move(fact));
  }
  return !log.events.empty();
}

}  // namespace muster::diagnose
