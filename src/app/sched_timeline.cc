#include "app/sched_timeline.h"

#include "app/sched_simulate.h"
#include "sched/timeline/svg.h"

namespace muster {

Result<timeline::Timeline> LoadTimeline(Files& files, const std::string& script_path,
                                        const std::string& decisions_path) {
  TRY(const std::string script, files.Read(script_path));
  if (decisions_path.empty()) {
    auto decided = SimulateSchedule(script);
    if (!decided.ok())
      return tl::unexpected(std::move(decided.error()).Context("reading " + script_path));
    return timeline::ReadTimeline(script, decided->decisions).Context("reading " + script_path);
  }
  TRY(const std::string decisions, files.Read(decisions_path));
  return timeline::ReadTimeline(script, decisions)
      .Context("reading " + script_path + " and " + decisions_path);
}

Status PlotTimeline(Files& files, const std::string& script_path, const std::string& decisions_path,
                    const std::string& svg_path) {
  TRY(const timeline::Timeline timeline, LoadTimeline(files, script_path, decisions_path));
  return files.WriteAtomic(svg_path, timeline::ToSvg(timeline, script_path));
}

}  // namespace muster
