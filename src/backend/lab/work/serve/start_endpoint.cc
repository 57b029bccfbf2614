#include <fmt/format.h>

#include "backend/lab/work/serve.h"
#include "base/strings.h"

namespace muster::lab {
namespace {

constexpr Duration kPause = std::chrono::milliseconds(20);

// "listening on http://127.0.0.1:41234" among what it printed.
std::string UrlIn(std::string_view output) {
  // The last line may still be growing.
  const size_t end = output.rfind('\n');
  if (end == std::string_view::npos) return {};
  for (const std::string_view line : Lines(output.substr(0, end)))
    if (const auto url = After(line, "listening on ")) return std::string(Trim(*url));
  return {};
}

bool Healthy(World& world, const std::string& url) {
  HttpRequest request;
  request.url = url + "/health";
  request.timeout = std::chrono::seconds(2);
  const auto response = world.http.Do(request);
  return response.ok() && response->status == 200;
}

std::string LastWords(Child& child, int exit_code) {
  const std::string output = child.Output();
  const auto lines = Lines(Trim(output));
  return fmt::format("exit {}: {}", exit_code,
                     Printable(Shorten(lines.empty() ? "no output" : lines.back(), 300)));
}

}  // namespace

Result<ServedEndpoint> StartEndpoint(World& world, const EndpointOptions& options) {
  if (options.argv.empty()) return Fail(Code::kInvalid, "no program that serves");
  Command command;
  command.argv = options.argv;
  for (const std::string& word :
       {std::string("--checkpoint"), options.checkpoint, std::string("--model"), options.model,
        std::string("--with-parent"), std::string("yes")})
    command.argv.push_back(word);
  if (!options.lab.empty()) command.env["MUSTER_LAB"] = options.lab;

  ServedEndpoint endpoint;
  endpoint.model = options.model;
  TRY(endpoint.child, world.processes.Start(command, ""));
  const Duration deadline = world.clock.Monotonic() + options.timeout;
  for (;;) {
    // Looked at before the output is read: what it printed before it ended is then complete.
    const std::optional<int> ended = endpoint.child->Poll();
    if (endpoint.url.empty()) endpoint.url = UrlIn(endpoint.child->Output());
    if (ended) {
      endpoint.why = LastWords(*endpoint.child, *ended);
      if (endpoint.url.empty())
        return Fail(Code::kUnavailable, fmt::format("the server ended: {}", endpoint.why));
      return endpoint;
    }
    if (!endpoint.url.empty() && Healthy(world, endpoint.url)) {
      endpoint.ready = true;
      return endpoint;
    }
    if (world.clock.Monotonic() >= deadline) {
      endpoint.why = fmt::format("not healthy within {}", FormatDuration(options.timeout));
      if (endpoint.url.empty())
        return Fail(Code::kTimeout, "the server did not say where it listens: " + endpoint.why);
      return endpoint;
    }
    world.clock.SleepFor(kPause);
  }
}

}  // namespace muster::lab
