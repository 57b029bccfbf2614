#include "app/rma_ticket.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "app/explain.h"
#include "base/strings.h"

namespace muster {

namespace {

constexpr std::string_view kFacts[] = {
    "gpu.serial",      "gpu.uuid",         "gpu.pci_bus_id",      "gpu.model",
    "gpu.present",     "gpu.remap_failed", "gpu.remap_pending",   "gpu.ecc_uncorrected",
    "gpu.temperature", "gpu.pcie_width",   "node.driver_version", "node.boot_id"};

bool Concerns(const Subject& subject, const Subject& on) {
  return subject.Host() == on.Host() &&
         (subject.kind != SubjectKind::kGpu || on.kind != SubjectKind::kGpu || subject == on);
}

bool IsTrue(const Observation& o) {
  const auto* value = o.value() == nullptr ? nullptr : std::get_if<bool>(o.value());
  return value != nullptr && *value;
}

// "NVRM: Xid (PCI:0000:1b:00): 79, ..." of this GPU's address, classified.
void AddXids(const std::vector<Reading>& readings, const std::string& pci, RmaTicket& ticket,
             bool& hardware) {
  // The kernel names the bus without the function, and with four digits of the domain.
  const std::string bus = pci.size() > 9 ? ToLower(pci.substr(pci.size() - 10, 7)) : "";
  std::set<std::string> seen;
  for (const Reading& reading : readings) {
    for (const std::string_view line : Lines(reading.text)) {
      const size_t at = line.find("NVRM: Xid (PCI:");
      if (at == std::string_view::npos) continue;
      if (!bus.empty() && !Contains(ToLower(line), bus)) continue;
      const size_t close = line.find("): ", at);
      if (close == std::string_view::npos) continue;
      const std::string_view rest = line.substr(close + 3);
      const std::string code(rest.substr(0, rest.find(',')));
      if (!ParseInt(code).ok() || !seen.insert(std::string(line)).second) continue;
      std::string text = "Xid " + code;
      if (const auto what = Explain("xid-" + code); what.ok()) {
        text += " (" + what->title + ")";
        for (const auto& [name, value] : what->fields) {
          if (name == "class" || name == "action") text += fmt::format("; {}: {}", name, value);
          if (name == "class" && (value == "hardware" || value == "nvlink")) hardware = true;
        }
      } else {
        text += " (in no list)";
      }
      ticket.xids.push_back(text + "\n  " + std::string(Trim(line)));
    }
  }
}

// The counters a vendor asks for, as nvidia-smi -q -x wrote them for this GPU: one leaf a line.
void AddCounters(const std::vector<Reading>& readings, const std::string& pci, RmaTicket& ticket) {
  static constexpr std::pair<std::string_view, std::string_view> kSections[] = {
      {"volatile", "ECC errors, volatile"},
      {"aggregate", "ECC errors, aggregate"},
      {"remapped_rows", "remapped rows"}};
  for (const Reading& reading : readings) {
    const std::string head = fmt::format("<gpu id=\"{}\"", pci);
    const size_t begin = pci.empty() ? std::string::npos : reading.text.find(head);
    if (begin == std::string::npos) continue;
    const std::string_view gpu =
        std::string_view(reading.text).substr(begin, reading.text.find("</gpu>", begin) - begin);
    for (const auto& [tag, name] : kSections) {
      const size_t from = gpu.find(fmt::format("<{}>", tag));
      const size_t to = gpu.find(fmt::format("</{}>", tag));
      if (from == std::string_view::npos || to == std::string_view::npos || to < from) continue;
      std::vector<std::string> counts;
      for (const std::string_view line : Lines(gpu.substr(from, to - from))) {
        const std::string_view leaf = Trim(line);
        const size_t close = leaf.find('>'), end = leaf.find("</");
        if (close == std::string_view::npos || end == std::string_view::npos || end <= close)
          continue;
        counts.push_back(fmt::format("{} {}", leaf.substr(1, close - 1),
                                     leaf.substr(close + 1, end - close - 1)));
      }
      if (!counts.empty()) ticket.facts[std::string(name)] = Join(counts, ", ");
    }
  }
}

}  // namespace

std::vector<RmaTicket> MakeTickets(SiteContext& site, const RunbookRun& run) {
  std::vector<RmaTicket> tickets;
  for (size_t i = 0; i < run.plan.targets.size(); ++i) {
    const PlannedTarget& target = run.plan.targets[i];
    RmaTicket ticket;
    ticket.target = target.on.id;
    ticket.run = run.run;
    ticket.site = run.plan.site;
    ticket.origin = site.hosts->origin();
    if (!target.identity.empty()) ticket.facts["identity at planning"] = target.identity;
    SilentProgress silent;
    const Evidence evidence = LookAtGate(site, 3, {target.node}, run.run, true, true, silent);
    bool failed_remap = false, failed_diagnostic = false, hardware = false;
    std::string pci;
    for (const Observation& o : evidence.All()) {
      if (!Concerns(o.subject, target.on)) continue;
      if (std::find(std::begin(kFacts), std::end(kFacts), o.fact) == std::end(kFacts)) continue;
      const std::string name =
          o.subject.kind == SubjectKind::kGpu && target.on.kind != SubjectKind::kGpu
              ? o.subject.id + " " + o.fact
              : o.fact;
      ticket.facts[name] = o.value() != nullptr
                               ? FormatValue(*o.value(), o.unit)
                               : fmt::format("unknown: {}", ToString(o.unobserved()->reason));
      if (o.fact == "gpu.remap_failed") failed_remap = failed_remap || IsTrue(o);
      if (o.fact == "gpu.pci_bus_id" && o.subject == target.on && o.value() != nullptr)
        pci = FormatValue(*o.value(), o.unit);
    }
    const GateResult judged = JudgeGate(site, 3, {target.node}, evidence, site.world.clock.Now());
    for (const Verdict& verdict : judged.verdicts) {
      if (!Concerns(verdict.subject, target.on)) continue;
      const Criterion* criterion = site.catalogue->Find(verdict.code);
      if (criterion == nullptr || !StartsWith(criterion->fact, "dcgm.")) continue;
      ticket.diagnostic.push_back(fmt::format("{} {} {}: {}", ToString(verdict.level), verdict.code,
                                              verdict.subject.ToString(), verdict.text));
      failed_diagnostic = failed_diagnostic || verdict.level == Level::kFail;
    }
    AddXids(evidence.readings, pci, ticket, hardware);
    AddCounters(evidence.readings, pci, ticket);
    for (const engine::Entry& entry : run.stored.entries) {
      if (entry.target != static_cast<int>(i)) continue;
      const bool says =
          entry.type == engine::EntryType::kIntent || entry.type == engine::EntryType::kOutcome ||
          entry.type == engine::EntryType::kVerified || entry.type == engine::EntryType::kSkipped ||
          entry.type == engine::EntryType::kEnded;
      if (!says) continue;
      ticket.tried.push_back(fmt::format(
          "{} {} {}{}{}", FormatTime(entry.at), ToString(entry.type), entry.step,
          entry.type == engine::EntryType::kVerified ? fmt::format(" {}", ToString(entry.level))
                                                     : "",
          entry.detail.empty() ? "" : ": " + Shorten(Printable(entry.detail), 200)));
    }
    ticket.replace = failed_remap || failed_diagnostic;
    ticket.advice =
        failed_remap
            ? "a row remap failed: confirm with the vendor's field diagnostic, then replace"
        : failed_diagnostic
            ? "the level-3 diagnostic fails: confirm with the field diagnostic, then replace"
        : hardware
            ? "an Xid of the hardware class, and neither a failed remap nor a failed diagnostic: "
              "not yet a reason to replace"
            : "nothing here is a reason to replace the GPU";
    tickets.push_back(std::move(ticket));
  }
  return tickets;
}

std::string TicketText(const RmaTicket& ticket) {
  std::string text = fmt::format(
      "# RMA ticket: {}\n\nsite {}, run {}{}\n\n**{}**: {}\n\n## Identity "
      "and counters\n\n",
      ticket.target, ticket.site, ticket.run,
      ticket.origin == Origin::kLive ? "" : fmt::format(" ({})", ToString(ticket.origin)),
      ticket.replace ? "replace" : "do not replace yet", ticket.advice);
  for (const auto& [name, value] : ticket.facts)
    text += fmt::format("- {}: {}\n", name, Printable(value));
  text += "\n## Xids, classified\n\n";
  if (ticket.xids.empty()) text += "none in the kernel log now\n";
  for (const std::string& xid : ticket.xids) text += fmt::format("- {}\n", xid);
  text += "\n## Diagnostic\n\n";
  if (ticket.diagnostic.empty()) text += "unknown: nothing came back\n";
  for (const std::string& line : ticket.diagnostic) text += fmt::format("- {}\n", Printable(line));
  text += "\n## What was tried\n\n";
  for (const std::string& line : ticket.tried) text += fmt::format("- {}\n", line);
  return text;
}

}  // namespace muster
