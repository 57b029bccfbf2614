#include "manifest/queue_holds.h"

#include <fmt/format.h>

namespace muster {

bool IsLocalQueue(std::string_view name) { return name.find('/') != std::string_view::npos; }

const std::string& QuotaQueueOf(const Queue& queue) {
  return IsLocalQueue(queue.name) ? queue.parent : queue.name;
}

namespace {

// Why a ClusterQueue takes nothing from this namespace; empty where it does.
std::string NotSelected(const std::string& queue, const QueueRules& rules, const std::string& ns,
                        const NamespaceLabels& namespaces) {
  if (!rules.namespaces)
    return fmt::format(
        "ClusterQueue {} has no namespaceSelector, so no namespace may use it "
        "(`namespaceSelector: {{}}` lets all of them)",
        queue);
  if (rules.namespaces->empty()) return "";
  const auto labels = namespaces.find(ns);
  if (labels == namespaces.end())
    return fmt::format(
        "the labels of namespace {} are not known, and ClusterQueue {} selects by them", ns, queue);
  if (Matches(*rules.namespaces, labels->second)) return "";
  return fmt::format("the namespaceSelector of ClusterQueue {} does not match namespace {}", queue,
                     ns);
}

}  // namespace

QueueHolds HoldsOf(const Gangs& gangs, const NamespaceLabels& namespaces) {
  QueueHolds holds;
  for (const auto& [name, rules] : gangs.rules) {
    if (rules.held.empty()) continue;
    holds.held[name] = rules.held;
    if (rules.stopped) holds.stopped.insert(name);
    if (rules.drain) holds.drained.insert(name);
  }
  for (const Queue& queue : gangs.queues) {
    if (!IsLocalQueue(queue.name)) continue;
    const auto rules = gangs.rules.find(queue.parent);
    if (rules == gangs.rules.end() || !rules->second.is_cluster_queue) continue;
    std::string why = NotSelected(queue.parent, rules->second,
                                  queue.name.substr(0, queue.name.find('/')), namespaces);
    if (!why.empty()) holds.held.try_emplace(queue.name, std::move(why));
  }
  return holds;
}

}  // namespace muster
