#include "app/lint.h"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/format.h>

#include "base/strings.h"

namespace muster {

namespace {

constexpr uint64_t kMostBytes = kYamlMaxBytes;
constexpr int kMostDepth = 16;  // of folders

bool IsManifestName(std::string_view name) {
  for (const char* ending : {".yaml", ".yml", ".json", ".sh", ".sbatch", ".slurm"}) {
    if (EndsWith(name, ending)) return true;
  }
  return false;
}

Status Collect(Files& files, const std::string& path, int depth, std::set<std::string>& into) {
  TRY(const std::vector<FileInfo> list, files.List(path));
  for (const FileInfo& info : list) {
    if (StartsWith(info.name, ".")) continue;
    const std::string below = EndsWith(path, "/") ? path + info.name : path + "/" + info.name;
    if (info.is_directory) {
      if (depth < kMostDepth) TRY_VOID(Collect(files, below, depth + 1, into));
    } else if (IsManifestName(info.name)) {
      into.insert(below);
    }
  }
  return {};
}

void ReadOne(const std::string& path, std::string text, bool named, LintInput& input,
             LintReport& report) {
  const bool script = LooksLikeSbatch(text) || EndsWith(path, ".sh") || EndsWith(path, ".sbatch") ||
                      EndsWith(path, ".slurm");
  if (script) {
    if (!LooksLikeSbatch(text)) {
      if (named) report.unreadable.push_back(path + ": a script without #SBATCH lines");
      return;
    }
    auto parsed = ParseSbatch(std::move(text), path);
    if (!parsed.ok()) return report.unreadable.push_back(parsed.error().message);
    ++report.files;
    ++report.documents;
    input.scripts.push_back(std::move(*parsed));
    return;
  }
  auto parsed = ParseManifestFile(std::move(text), path);
  if (!parsed.ok()) return report.unreadable.push_back(parsed.error().message);
  ++report.files;
  report.documents += parsed->documents.size();
  for (const Document& doc : parsed->documents) {
    if (doc.kind == ManifestKind::kOther)
      report.not_judged.push_back(
          fmt::format("{}:{}: {}", doc.file, doc.root.at.line, doc.Title()));
  }
  input.files.push_back(std::move(*parsed));
}

void MakePatch(const LintInput& input, LintReport& report) {
  std::map<std::string, std::string_view> texts;
  for (const ManifestFile& file : input.files) texts[file.path] = file.text;
  for (const SbatchScript& script : input.scripts) texts[script.path] = script.text;
  std::vector<TextEdit> edits;
  for (const LintFinding& f : report.findings) {
    edits.insert(edits.end(), f.edits.begin(), f.edits.end());
    report.repaired += f.edits.empty() ? 0 : 1;
  }
  for (const auto& [path, text] : texts)
    report.patch += UnifiedDiff(path, text, ApplyEdits(path, text, edits));
}

}  // namespace

Result<LintReport> LintPaths(Files& files, const std::vector<std::string>& paths,
                             const std::optional<Site>& site) {
  TRY(const LintRules* const rules, LoadLintRules());
  LintReport report;
  LintInput input;
  std::set<std::string> seen;
  for (const std::string& path : paths) {
    TRY(const FileInfo info, files.Stat(path).Context("reading " + path));
    std::set<std::string> found;
    if (info.is_directory) {
      TRY_VOID(Collect(files, path, 0, found));
    } else {
      found.insert(path);
    }
    for (const std::string& one : found) {
      if (!seen.insert(one).second) continue;
      TRY(std::string text, files.Read(one, kMostBytes).Context("reading " + one));
      ReadOne(one, std::move(text), !info.is_directory, input, report);
    }
  }
  if (report.files == 0 && report.unreadable.empty())
    return Fail(Code::kInvalid, "nothing to read: no .yaml, .yml, .json or sbatch script is there");
  LintSite lint_site = site ? SiteOf(site->cluster) : LintSite{};
  if (site) {
    lint_site.roce = site->roce;
    if (const auto mtu = site->pins.find("mtu"); mtu != site->pins.end())
      lint_site.mtu = static_cast<int>(ParseInt(mtu->second).value_or(0));
  }
  report.findings = Lint(input, *rules, lint_site);
  for (const LintFinding& f : report.findings) {
    (f.severity == LintSeverity::kError     ? report.errors
     : f.severity == LintSeverity::kWarning ? report.warnings
                                            : report.infos) += 1;
  }
  report.notes = ReadGangs(input.files).notes;
  for (const SbatchScript& script : input.scripts) {
    const auto read = ReadSbatchJob(script, report.notes);
    if (!read.ok()) report.unreadable.push_back(read.error().message);
  }
  MakePatch(input, report);
  return report;
}

Result<std::vector<std::string>> ApplyRepairs(Files& files, const LintReport& report) {
  std::map<std::string, std::vector<TextEdit>> by_file;
  for (const LintFinding& f : report.findings) {
    for (const TextEdit& edit : f.edits) by_file[edit.file].push_back(edit);
  }
  std::vector<std::string> changed;
  for (const auto& [path, edits] : by_file) {
    TRY(const std::string text, files.Read(path, kMostBytes).Context("reading " + path));
    const std::string after = ApplyEdits(path, text, edits);
    if (after == text) continue;
    TRY_VOID(files.WriteAtomic(path, after).Context("writing " + path));
    changed.push_back(path);
  }
  return changed;
}

}  // namespace muster
