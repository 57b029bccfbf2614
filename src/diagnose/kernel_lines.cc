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

// The lines that follow an SXid repeat its code: "Severity 1 Engine instance ..", "Data {0x..}".
// Where such a line was pasted alone it still names the code.
bool ReadSxidDetail(std::string_view line, const std::string& file, size_t number,
                    FactStore& facts) {
  constexpr std::string_view kMark = "SXid (PCI:";
  const size_t at = line.find(kMark);
  if (at == std::string_view::npos) return false;
  const std::string_view rest = line.substr(at + kMark.size());
  const size_t close = rest.find("): ");
  if (close == std::string_view::npos) return false;
  const std::string_view after = rest.substr(close + 3);
  const size_t comma = after.find(", ");
  if (comma == std::string_view::npos) return false;
  const auto code = ParseInt(after.substr(0, comma));
  const std::string_view said = after.substr(comma + 2);
  if (!code.ok() || (!said.starts_with("Severity ") && !said.starts_with("Data {"))) return false;
  Fact fact{"sxid.detail",
            {{"code", std::to_string(*code)}, {"pci", std::string(rest.substr(0, close))}},
            {file, number},
            Shorten(Printable(Trim(line)), kTextBytes),
            {},
            0,
            1};
  Attach(ReadSpeaker(line), fact);
  facts.Add(std::move(fact));
  return true;
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
                           : Contains(lower, "uncorrect") || Contains(lower, "recover")
                               ? "uncorrectable"
                               : "corrected");
    }
    Attach(ReadSpeaker(line), fact);
    // "caused by previous Xid 145": what came first, whether or not its own line was given.
    if (e.kind == kernel_log::EventKind::kXid && e.caused_by && *e.caused_by != 45) {
      Fact first = fact;
      first.Set("code", std::to_string(*e.caused_by));
      std::erase_if(first.attrs, [](const auto& attr) { return attr.first == "fatal"; });
      ClassifyXid(first);
      facts.Add(std::move(first));
    }
    facts.Add(std::move(fact));
  }
  return !log.events.empty() || ReadSxidDetail(line, file, number, facts);
}

}  // namespace muster::diagnose
