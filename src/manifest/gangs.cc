#include "manifest/gangs.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "manifest/gangs_internal.h"

namespace muster {

std::string ManifestNote::ToString() const {
  return fmt::format("{}:{}:{}: {}: {}", file, at.line, at.column, field, what);
}

std::string LocalQueueName(std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}", ns.empty() ? "default" : ns, name);
}

std::string LevelOfTier(const std::string& tier, const std::vector<std::string>& levels) {
  if (!tier.starts_with("tier-")) return tier;
  const auto number = ParseInt(tier.substr(5));
  if (!number.ok() || *number < 1) return tier;
  const auto from_below = static_cast<uint64_t>(*number);
  return from_below > levels.size() ? "" : levels[levels.size() - from_below];
}

bool Matches(const std::vector<LabelRule>& rules,
             const std::map<std::string, std::string>& labels) {
  return std::all_of(rules.begin(), rules.end(), [&](const LabelRule& rule) {
    const auto found = labels.find(rule.key);
    const bool among = found != labels.end() && std::find(rule.values.begin(), rule.values.end(),
                                                          found->second) != rule.values.end();
    if (rule.op == "In") return among;
    if (rule.op == "NotIn") return !among;
    if (rule.op == "Exists") return found != labels.end();
    return rule.op == "DoesNotExist" && found == labels.end();
  });
}

namespace manifest {

void GangReader::Note(const Document& doc, const YamlNode& at, std::string field,
                      std::string what) {
  into.notes.push_back({doc.file, at.at, std::move(field), std::move(what)});
}

void GangReader::NoteRest(const Document& doc, const YamlNode& mapping, std::string_view path,
                          std::initializer_list<std::string_view> read) {
  for (const YamlEntry& entry : mapping.entries) {
    if (entry.value.IsNull() || std::find(read.begin(), read.end(), entry.key) != read.end())
      continue;
    Note(doc, entry.value, fmt::format("{}.{}", path, Printable(entry.key)),
         "read, and not acted on");
  }
}

BadAmount GangReader::Bad(const Document& doc) {
  return [this, &doc](const YamlNode& at, const std::string& what) {
    into.errors.push_back(fmt::format("{}:{}:{}: {}", doc.file, at.at.line, at.at.column, what));
  };
}

int PriorityOf(const Document& doc, const YamlNode& node, bool kueue, GangReader& reader) {
  const std::string& name = TextOf(node);
  if (name.empty()) return 0;
  const auto& priorities = reader.into.priorities;
  const auto found = priorities.find(kueue ? "kueue/" + name : name);
  if (found != priorities.end()) return found->second;
  reader.Note(doc, node, "priority class " + name,
              "its value is not in these files; 0 is taken for it");
  return 0;
}

}  // namespace manifest

Gangs ReadGangs(std::span<const ManifestFile> files) {
  Gangs gangs;
  manifest::GangReader reader{gangs};
  const auto each = [&](auto body) {
    for (const ManifestFile& file : files) {
      for (const Document& doc : file.documents) body(doc);
    }
  };
  each([&](const Document& doc) {
    if (doc.kind == ManifestKind::kPriorityClass ||
        doc.kind == ManifestKind::kWorkloadPriorityClass) {
      const int64_t value =
          std::clamp<int64_t>(IntOf(Key(doc.root, "value"), 0), -2147483648LL, 2147483647LL);
      const bool kueue = doc.kind == ManifestKind::kWorkloadPriorityClass;
      gangs.priorities[(kueue ? "kueue/" : "") + doc.name] = static_cast<int>(value);
    }
  });
  each([&](const Document& doc) {
    manifest::ReadQueueObject(doc, reader);
    manifest::ReadJobObject(doc, reader);
  });
  manifest::ReadPodGroups(files, reader);
  manifest::TellQueuesApart(reader);
  return gangs;
}

}  // namespace muster
