#include "cli/diagnose/diagnose.h"

#include <ostream>

#include <fmt/format.h>

#include "app/diagnose/diagnose.h"
#include "base/strings.h"
#include "cli/diagnose/view.h"

namespace muster::cli {

ExitCode DiagnoseFiles(const Invocation& invocation) {
  OutputOptions output;
  std::vector<std::string> paths;
  std::string follow;
  Args args("diagnose",
            "From logs and tool outputs of any kind, of any number of nodes and ranks, to ranked "
            "causes with the line that shows each");
  args.Rest("FILE", paths,
            "Files, folders, archives (tar, zip, gz, xz, zst, bz2), a folder of `muster capture`, "
            "or - for standard input; what they are called does not matter");
  args.Option("--follow", follow, "FILE", "Keep reading this file as it grows (end with Ctrl-C)");
  output.AddTo(args);
  args.Example("muster diagnose job-8123/");
  args.Example("dmesg | muster diagnose -");
  args.Example("muster diagnose rank*.log node07-dmesg.txt -o json");
  if (auto stop = Begin(invocation, args)) return *stop;
  Context& context = invocation.context;
  if (context.inputs == nullptr)
    return Complain(context, Code::kInternal, "no inputs are connected");
  if (paths.empty() == follow.empty())
    return Complain(context, Code::kInvalid, "name files, folders or -, or one file to --follow");
  const OnFinding tell = [&](const diagnose::Finding& finding) {
    context.err << fmt::format("found so far: {}\n", Printable(finding.title));
    context.err.flush();
  };
  if (!follow.empty() && context.catch_interrupts) context.catch_interrupts();
  Result<DiagnoseResult> result = follow.empty()
                                      ? DiagnoseInputs(context.world, *context.inputs, paths, tell)
                                      : FollowInput(*context.inputs, follow, tell, [&] {
                                          context.world.clock.SleepFor(std::chrono::seconds(1));
                                          return !context.interrupted || !context.interrupted();
                                        });
  if (!result.ok()) return Complain(context, result.error());
  TellUnreadable(context, *result);
  Emit(context, output, DiagnosisView(context, *result));
  return ExitCodeOf(*result);
}

}  // namespace muster::cli
