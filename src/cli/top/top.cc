#include "cli/top/top.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/sched_timeline.h"
#include "base/strings.h"
#include "cli/at_option.h"
#include "cli/output.h"
#include "cli/table.h"
#include "sched/timeline/svg.h"

namespace muster::cli {

namespace {

constexpr std::string_view kSeatLetters =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";

struct QueueWaits {
  std::vector<int64_t> started;  // waits of the jobs that started by then, sorted
  int64_t longest_now = 0;       // of those that wait
  int waiting = 0;
};

QueueWaits WaitsOf(const timeline::Timeline& timeline, const std::string& queue, int64_t t) {
  QueueWaits waits;
  for (const timeline::Job& job : timeline.jobs) {
    if (job.queue != queue || job.submitted > t) continue;
    if (job.first_start >= 0 && job.first_start <= t)
      waits.started.push_back(job.first_start - job.submitted);
    for (const auto& [from, to] : job.waits) {
      if (from > t || (to <= t && to != timeline.end) || (job.over >= 0 && job.over <= t)) continue;
      ++waits.waiting;
      waits.longest_now = std::max(waits.longest_now, t - from);
    }
  }
  std::sort(waits.started.begin(), waits.started.end());
  return waits;
}

// A line for each node, a letter for each device; beyond the letters there are, `#`.
std::string MapOf(const timeline::Timeline& timeline, int64_t t) {
  std::map<int, char> letters;
  Table map({}), legend({});
  std::vector<std::string> last;
  for (const timeline::Seats& seats : timeline::SeatsAt(timeline, t)) {
    const timeline::Node& node = timeline.nodes[seats.node];
    std::string cells;
    for (const int job : seats.jobs) {
      if (job < 0) {
        cells += '.';
        continue;
      }
      const size_t next = letters.size();
      const auto [found, is_new] =
          letters.try_emplace(job, next < kSeatLetters.size() ? kSeatLetters[next] : '#');
      if (is_new && next < kSeatLetters.size()) {
        const timeline::Job& who = timeline.jobs[static_cast<size_t>(job)];
        legend.Row({std::string(1, found->second), Printable(who.name), Printable(who.queue)});
      }
      cells += found->second;
    }
    const bool first = last.empty() || node.path != last;
    last = node.path;
    map.Row({first ? Printable(Join(node.path, " / ")) : "", Printable(node.name), cells});
  }
  return map.ToString(2) + "\n" + legend.ToString(2);
}

Document DescribeMoment(const timeline::Timeline& timeline, const timeline::Moment& moment) {
  Document doc;
  doc.kind = "SchedTop";
  auto& json = *doc.json;
  const double part = moment.gpus > 0 ? 100 * moment.used / moment.gpus : 0;
  json = {{"t", moment.t},
          {"gpus", moment.gpus},
          {"gpus_in_use", moment.used},
          {"gpus_idle_beside_others", moment.stranded},
          {"gpus_waited_for", moment.gpus_waited_for},
          {"jobs_running", moment.running},
          {"jobs_waiting", moment.waiting},
          {"queues", nlohmann::ordered_json::array()}};
  Table table({"queue", "GPUs", "share", "waiting", "median wait", "longest now"});
  const auto queues = timeline::Queues(timeline);
  for (size_t q = 0; q < queues.size(); ++q) {
    const QueueWaits waits = WaitsOf(timeline, queues[q], moment.t);
    const double used = moment.used_by_queue[q];
    const int64_t median = waits.started.empty() ? -1 : waits.started[waits.started.size() / 2];
    json["queues"].push_back({{"queue", queues[q]},
                              {"gpus_in_use", used},
                              {"jobs_waiting", waits.waiting},
                              {"longest_wait_ms", waits.longest_now}});
    if (median >= 0) json["queues"].back()["median_wait_ms"] = median;
    table.Row({Printable(queues[q]), fmt::format("{:g}", used),
               moment.gpus > 0 ? fmt::format("{:.1f} %", 100 * used / moment.gpus) : "",
               fmt::format("{}", waits.waiting), median >= 0 ? timeline::SpanText(median) : "-",
               waits.waiting > 0 ? timeline::SpanText(waits.longest_now) : "-"});
  }
  doc.brief = fmt::format(
      "{:g} of {:g} GPUs in use ({:.1f} %), {} jobs run, {} wait for {:g} GPUs\n", moment.used,
      moment.gpus, part, moment.running, moment.waiting, moment.gpus_waited_for);
  doc.table = fmt::format("at {} of {}: {}{:g} idle GPUs stand on nodes in use\n\n{}\n{}",
                          timeline::SpanText(moment.t), timeline::SpanText(timeline.end), doc.brief,
                          moment.stranded, table.ToString(2), MapOf(timeline, moment.t));
  doc.cases = {{"top", "moment", Level::kPass, doc.brief}};
  return doc;
}

}  // namespace

ExitCode Top(const Invocation& invocation) {
  OutputOptions output;
  std::string script, decisions;
  AtOption at;
  Args args(
      "top",
      "One moment of a cluster script and its decisions: GPUs in use, queues, waits, stranded "
      "GPUs, and which gang sits where");
  args.Required("--script", script, "FILE", "The cluster script");
  args.Option("--decisions", decisions, "FILE",
              "The decisions made on it (default: those of muster sched simulate)");
  at.AddTo(args, "the end");
  output.AddTo(args);
  args.Example("muster top --script hour.jsonl --decisions decisions.jsonl --at 1800000");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  const auto timeline = LoadTimeline(context.world.files, script, decisions);
  if (!timeline.ok()) return Complain(context, timeline.error());
  const auto at_ms = at.Milliseconds();
  if (!at_ms.ok()) return Complain(context, at_ms.error());
  const int64_t t = std::min(timeline->end, at_ms->value_or(timeline->end));
  Emit(context, output, DescribeMoment(*timeline, timeline::At(*timeline, t)));
  return ExitCode::kDone;
}

}  // namespace muster::cli
