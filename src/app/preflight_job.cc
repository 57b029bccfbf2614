#include "app/preflight_job.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "manifest/document.h"
#include "manifest/gangs.h"
#include "manifest/sbatch.h"

namespace muster {

Result<std::vector<Job>> JobsOfFile(Files& files, const std::string& path) {
  TRY(std::string text, files.Read(path));
  std::vector<Job> jobs;
  if (LooksLikeSbatch(text)) {
    TRY(const SbatchScript script, ParseSbatch(std::move(text), path));
    std::vector<ManifestNote> notes;
    TRY(ReadJob job, ReadSbatchJob(script, notes));
    jobs.push_back(std::move(job.job));
    return jobs;
  }
  std::vector<ManifestFile> manifests;
  TRY(ManifestFile manifest, ParseManifestFile(std::move(text), path));
  manifests.push_back(std::move(manifest));
  Gangs gangs = ReadGangs(manifests);
  if (!gangs.errors.empty()) return Fail(Code::kInvalid, Join(gangs.errors, "\n"));
  for (ReadJob& job : gangs.jobs) jobs.push_back(std::move(job.job));
  if (jobs.empty()) return Fail(Code::kNotFound, fmt::format("{}: no job is in it", path));
  return jobs;
}

}  // namespace muster
