// Private to src/manifest: what the readers of jobs and of queues share.
#pragma once

#include <initializer_list>
#include <string>
#include <string_view>

#include "manifest/gangs.h"

namespace muster::manifest {

struct GangReader {
  Gangs& into;
  // Of into.queues: whose it is (kueue, cohort, local, volcano, kai), and its rules.
  std::vector<std::string> queue_kinds = {};
  std::vector<QueueRules> queue_rules = {};

  void Note(const Document& doc, const YamlNode& at, std::string field, std::string what);
  // A note for every key of the mapping that is in none of the two lists.
  void NoteRest(const Document& doc, const YamlNode& mapping, std::string_view path,
                std::initializer_list<std::string_view> read);
  BadAmount Bad(const Document& doc);
};

void ReadQueueObject(const Document& doc, GangReader& reader);
void ReadJobObject(const Document& doc, GangReader& reader);
// Gives queues of different kinds that share a name names of their own, and files their rules.
void TellQueuesApart(GangReader& reader);
// Pods that name a group, and the groups of all four dialects.
void ReadPodGroups(std::span<const ManifestFile> files, GangReader& reader);
int PriorityOf(const Document& doc, const YamlNode& node, bool kueue, GangReader& reader);
TaskGroup GroupOf(const Document& doc, const PodSet& set, GangReader& reader);

}  // namespace muster::manifest
