#include "cli/why/why.h"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "app/sched_ask.h"
#include "base/strings.h"
#include "cli/output.h"
#include "cli/table.h"

namespace muster::cli {

ExitCode WhyPending(const Invocation& invocation) {
  OutputOptions output;
  std::string job, script, at;
  Args args("why",
            "Why a job waits: the constraint that binds it, and the smallest change that "
            "would start it");
  args.Positional("JOB", job, "The job");
  args.Required("--script", script, "FILE", "A cluster script");
  args.Option("--at", at, "T", "Virtual time in milliseconds (without it: the last event)");
  output.AddTo(args);
  args.Example("muster why j2 --script hour.jsonl --at 5000");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  std::optional<int64_t> at_ms;
  if (!at.empty()) {
    const auto value = ParseInt(at);
    if (!value.ok() || *value < 0)
      return Complain(context, Code::kInvalid, "--at: expected milliseconds of virtual time");
    at_ms = *value;
  }
  auto text = context.world.files.Read(script);
  if (!text.ok()) return Complain(context, std::move(text).error().Context("reading " + script));
  auto why = AskWhyPending(*text, job, at_ms);
  if (!why.ok()) return Complain(context, std::move(why).error().Context(script));
  Document doc;
  doc.kind = "SchedWhy";
  auto& json = *doc.json;
  json = {{"job", job},
          {"script", script},
          {"origin", "rehearsed"},
          {"at_ms", why->at_ms},
          {"state", why->state}};
  json["because"] = nlohmann::ordered_json::array();
  json["would_start_if"] = nlohmann::ordered_json::array();
  Table table({});
  for (const auto& cause : why->because) {
    json["because"].push_back({{"code", cause.code}, {"detail", cause.detail}});
    table.Row({cause.code, cause.detail});
  }
  doc.table = fmt::format("rehearsed: {} is {} at t={} ms\n{}", job, why->state, why->at_ms,
                          table.ToString());
  for (const std::string& change : why->would_start_if) {
    json["would_start_if"].push_back(nlohmann::ordered_json::parse(change));
    doc.table += "would start if: " + change + "\n";
  }
  doc.cases = {{"why", job, Level::kPass, why->state}};
  Emit(context, output, doc);
  return ExitCode::kDone;
}

}  // namespace muster::cli
