// The command to run next, filled in for a subject and a site.
#include <map>
#include <unordered_map>

#include <fmt/format.h>

#include "base/strings.h"
#include "catalogue/expectation.h"
#include "model/fabric_host.h"

namespace muster {

namespace {

// How this site reaches a host, as the beginning of a command line.
std::string AtHost(const Site* site, std::string_view host) {
  if (site == nullptr) return fmt::format("ssh {}", host);
  if (site->kind == SiteKind::kLab) return fmt::format("muster lab exec {} --", host);
  std::string name(host);
  if (name == "fabric") name = FabricHost(*site);
  if (name.empty() && !site->cluster.nodes.empty()) name = site->cluster.nodes.front().name;
  const Node* node = site->cluster.FindNode(name);
  const std::string address = node != nullptr && !node->address.empty() ? node->address : name;
  if (address == "localhost" || address == "127.0.0.1") return "";
  const auto user = site->ssh.find("user");
  return user == site->ssh.end() ? fmt::format("ssh {}", address)
                                 : fmt::format("ssh {}@{}", user->second, address);
}

}  // namespace

std::string RenderNext(std::string_view next, const Subject* subject, const Site* site) {
  std::map<std::string, std::string, std::less<>> words = {
      {"host", "HOST"}, {"gpu", "N"}, {"device", "DEVICE"}, {"port", "PORT"},      {"a", "A"},
      {"b", "B"},       {"id", "ID"}, {"fabric", "fabric"}, {"monitor", "monitor"}};
  if (subject != nullptr) {
    words["id"] = subject->id;
    words["host"] = subject->Host();
    const size_t ends = subject->id.find("--");
    if (ends != std::string::npos) {
      const std::string a = subject->id.substr(0, ends), b = subject->id.substr(ends + 2);
      words["a"] = a.substr(0, a.find('/'));
      words["b"] = b.substr(0, b.find('/'));
    }
    const auto parts = Split(subject->id, '/');
    if (subject->kind == SubjectKind::kGpu && parts.size() == 2)
      words["gpu"] = After(parts[1], "gpu").value_or("N");
    if (subject->kind == SubjectKind::kHca && parts.size() == 2) words["device"] = parts[1];
    if (subject->kind == SubjectKind::kPort && parts.size() >= 2) {
      words["port"] = parts.back();
      words["device"] = parts[parts.size() - 2];
    }
  }
  std::string text;
  while (!next.empty()) {
    const size_t open = next.find('{');
    const size_t close = open == std::string_view::npos ? open : next.find('}', open);
    if (close == std::string_view::npos) break;
    text += next.substr(0, open);
    const std::string_view word = next.substr(open + 1, close - open - 1);
    const auto at = After(word, "at ");
    const auto it = words.find(at ? *at : word);
    if (it == words.end()) {
      text += next.substr(open, close - open + 1);  // a brace of the command's own
    } else {
      text += at ? AtHost(site, it->second) : it->second;
    }
    next.remove_prefix(close + 1);
    // A command on this machine has no way to it, and no blank after it either.
    if (at && text.empty() && next.starts_with(' ')) next.remove_prefix(1);
  }
  return text + std::string(next);
}

std::vector<Suspect> FindSuspects(std::span<const Verdict> verdicts, const Catalogue& catalogue,
                                  const Site& site) {
  std::unordered_map<std::string_view, const Criterion*> by_code;
  for (const Criterion& criterion : catalogue.criteria) by_code.emplace(criterion.code, &criterion);
  const SuspectRules rules{site.cluster, site.name,
                           [&](std::string_view code) -> const Criterion* {
                             const auto it = by_code.find(code);
                             return it == by_code.end() ? nullptr : it->second;
                           },
                           [&](const Criterion& criterion, const Subject& subject) {
                             return RenderNext(criterion.next, &subject, &site);
                           },
                           FabricHost(site)};
  return FindSuspects(verdicts, rules);
}

}  // namespace muster
