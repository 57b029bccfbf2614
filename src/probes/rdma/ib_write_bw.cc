#include "probes/rdma/ib_write_bw.h"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/strings.h"

namespace muster::rdma {

namespace {

constexpr double kGbitPerMib = 8.0 * 1048576 / 1e9;

// Whole lines only: a cut row may have lost digits.
std::vector<std::string_view> WholeLines(std::string_view text) {
  const size_t end = text.rfind('\n');
  if (end == std::string_view::npos) return {};
  return Lines(text.substr(0, end + 1));
}

// The unit a table's heading names, in Gb/s per printed unit; 0 for a line that is no heading we
// know.
double UnitOf(std::string_view line) {
  if (!Contains(line, "#bytes") || !Contains(line, "BW average[")) return 0;
  if (Contains(line, "BW average[Gb/sec]")) return 1;
  if (Contains(line, "BW average[MB/sec]") || Contains(line, "BW average[MiB/sec]"))
    return kGbitPerMib;
  return 0;
}

std::optional<WriteBwRow> ReadRow(std::string_view line, double unit) {
  const auto words = SplitBlank(line);
  if (words.size() < 5) return std::nullopt;
  const auto bytes = ParseInt(words[0]), iterations = ParseInt(words[1]);
  const auto peak = ParseDouble(words[2]), average = ParseDouble(words[3]);
  const auto messages = ParseDouble(words[4]);
  if (!bytes.ok() || !iterations.ok() || !peak.ok() || !average.ok() || !messages.ok()) {
    return std::nullopt;
  }
  if (*bytes < 1 || *iterations < 1 || *average <= 0 || *messages < 0) return std::nullopt;
  return WriteBwRow{*bytes, *iterations, *peak * unit, *average * unit};
}

std::string Trouble(std::string_view line) {
  static constexpr std::string_view kSigns[] = {"Couldn't", "Unable to", "Failed",
                                                "Completion with error", "is not supported"};
  for (const std::string_view sign : kSigns) {
    if (Contains(line, sign)) return Shorten(Trim(line), 160);
  }
  return {};
}

// The number behind a key, quoted or not: `BW_average: 92.57,` or `"BW_average": 92.57`.
std::optional<double> NumberOf(std::string_view text, std::string_view key) {
  for (size_t at = text.find(key); at != std::string_view::npos; at = text.find(key, at + 1)) {
    std::string_view rest = text.substr(at + key.size());
    if (StartsWith(rest, "\"")) rest.remove_prefix(1);
    rest = rest.substr(std::min(rest.find_first_not_of(' '), rest.size()));
    if (!StartsWith(rest, ":")) continue;
    const size_t end = rest.find_first_of(",\n}", 1);
    if (end == std::string_view::npos) return std::nullopt;  // cut within the number
    const auto number = ParseDouble(Trim(rest.substr(1, end - 1)));
    if (!number.ok()) return std::nullopt;
    return *number;
  }
  return std::nullopt;
}

struct RailRun {
  std::string command;
  std::string_view text;
};

// "# pair A B rails N", then "$ command" and its output per rail.
struct PairText {
  std::string a, b;
  size_t rails = 0;
  std::vector<RailRun> runs;
};
std::optional<PairText> ReadPair(std::string_view text) {
  const size_t first = text.find('\n');
  if (first == std::string_view::npos) return std::nullopt;
  const auto words = SplitBlank(text.substr(0, first));
  if (words.size() != 6 || words[0] != "#" || words[1] != "pair" || words[4] != "rails") {
    return std::nullopt;
  }
  const auto rails = ParseInt(words[5]);
  if (!rails.ok() || *rails < 1 || *rails > 64) return std::nullopt;
  PairText pair{std::string(words[2]), std::string(words[3]), static_cast<size_t>(*rails), {}};
  size_t body = std::string_view::npos;
  for (size_t at = first + 1; at < text.size();) {
    const size_t newline = text.find('\n', at);
    const size_t next = newline == std::string_view::npos ? text.size() : newline + 1;
    if (text.substr(at, 2) == "$ ") {
      if (!pair.runs.empty()) pair.runs.back().text = text.substr(body, at - body);
      pair.runs.push_back({std::string(Trim(text.substr(at + 2, next - at - 2))), {}});
      body = next;
    }
    at = next;
  }
  if (!pair.runs.empty()) pair.runs.back().text = text.substr(body);
  return pair;
}

std::vector<std::string> RailCommand(const std::string& device, const PairOptions& options) {
  return {"ib_write_bw",
          "-d",
          device,
          "-p",
          fmt::format("{}", options.tcp_port),
          "-s",
          fmt::format("{}", options.message_bytes),
          "-D",
          fmt::format("{}", std::max(1, static_cast<int>(Seconds(options.duration)))),
          "-F",
          "--report_gbits"};
}

// Runs the client until the server listens or 5 s have gone.
Reading RunClient(const HostPorts& client, const Command& command) {
  constexpr Duration kPatience = std::chrono::seconds(5), kPause = std::chrono::milliseconds(200);
  const Duration begin = client.world.clock.Monotonic();
  while (true) {
    Reading one = ReadCommand(client, "rdma.ib_write_bw", command);
    const bool refused = Contains(one.text, "Couldn't connect to") ||
                         Contains(one.stderr_text, "Couldn't connect to");
    if (!refused || client.world.clock.Monotonic() - begin >= kPatience) return one;
    client.world.clock.SleepFor(kPause);
  }
}

}  // namespace

WriteBw ParseWriteBw(std::string_view text) {
  WriteBw result;
  double unit = 0;
  for (const std::string_view line : WholeLines(text)) {
    if (Contains(line, "Bidirectional BW Test")) result.bidirectional = true;
    if (const size_t at = line.find("Device         : "); at != std::string_view::npos) {
      result.device = std::string(Trim(line.substr(at + 17)));
    }
    if (result.trouble.empty()) result.trouble = Trouble(line);
    if (const double named = UnitOf(line); named > 0) {
      unit = named;
    } else if (unit > 0) {
      if (auto row = ReadRow(line, unit)) result.rows.push_back(*row);
    }
  }
  if (result.rows.empty() && result.trouble.empty()) result.trouble = "no table of bandwidths";
  return result;
}

WriteBw ParseWriteBwJson(std::string_view text, bool in_gbits) {
  WriteBw result;
  const size_t results = text.find("results");
  result.bidirectional = Contains(text, "Bidirectional");
  const std::string_view part = results == std::string_view::npos ? "" : text.substr(results);
  const auto bytes = NumberOf(part, "MsgSize"), iterations = NumberOf(part, "n_iterations"),
             peak = NumberOf(part, "BW_peak"), average = NumberOf(part, "BW_average");
  if (!bytes || !iterations || !average || *average <= 0 || *bytes < 1) {
    result.trouble = "no results with MsgSize, n_iterations and BW_average";
    return result;
  }
  const double unit = in_gbits ? 1 : kGbitPerMib;
  result.rows.push_back({static_cast<int64_t>(*bytes), static_cast<int64_t>(*iterations),
                         peak.value_or(0) * unit, *average * unit});
  return result;
}

Reading CollectPair(const HostPorts& server, const HostPorts& client,
                    const std::vector<PairRail>& rails, const PairOptions& options) {
  Reading whole;
  whole.probe = "rdma.ib_write_bw";
  whole.host = client.host;
  whole.command = fmt::format("ib_write_bw {} {}", server.host, client.host);
  whole.origin = client.origin;
  whole.text = fmt::format("# pair {} {} rails {}\n", client.host, server.host, rails.size());
  const Duration begin = client.world.clock.Monotonic();
  for (const PairRail& rail : rails) {
    Command listen;
    listen.argv = RailCommand(rail.server_device, options);
    auto child = server.world.processes.Start(listen, "");
    Command connect;
    connect.argv = RailCommand(rail.client_device, options);
    connect.argv.push_back(options.server_address.empty() ? server.host : options.server_address);
    connect.timeout = options.duration + std::chrono::seconds(20);
    whole.text += fmt::format("$ {}\n", fmt::join(connect.argv, " "));
    if (!child.ok()) {
      whole.text += fmt::format("Failed to start the server on {}: {}\n", server.host,
                                child.error().ToString());
      continue;
    }
    Reading one = RunClient(client, connect);
    if (one.fault) one.text += fmt::format("\nFailed: {}\n", one.fault->detail);
    whole.text += one.text;
    if (!one.stderr_text.empty()) whole.text += fmt::format("\n{}\n", Trim(one.stderr_text));
    if (one.exit_code != 0) whole.exit_code = one.exit_code;
    (*child)->Kill();
  }
  whole.at = client.world.clock.Now();
  whole.took = client.world.clock.Monotonic() - begin;
  return whole;
}

Observations ParsePairReading(const Reading& reading) {
  ObservationBuilder builder(reading);
  if (reading.fault) return builder.Take();
  const auto pair = ReadPair(reading.text);
  if (!pair) return builder.Take();
  const Subject subject = PairSubject(pair->a, pair->b);
  std::optional<double> slowest;
  std::string excerpt;
  const auto unknown = [&](UnknownReason reason, std::string_view detail) {
    builder.AddUnobserved(subject, "rdma.pair_rate", reason, detail);
  };
  if (pair->runs.size() != pair->rails) {
    unknown(UnknownReason::kUnparsable,
            fmt::format("{} of {} rails were run", pair->runs.size(), pair->rails));
    return builder.Take();
  }
  for (const RailRun& run : pair->runs) {
    const WriteBw bw = ParseWriteBw(run.text);
    if (bw.rows.empty() || bw.trouble.size() > 0) {
      unknown(UnknownReason::kToolFault, fmt::format("{}: {}", run.command, bw.trouble));
      return builder.Take();
    }
    const WriteBwRow& row = *std::max_element(
        bw.rows.begin(), bw.rows.end(),
        [](const WriteBwRow& a, const WriteBwRow& b) { return a.bytes < b.bytes; });
    const double rate = row.average_gbit_per_s / (bw.bidirectional ? 2 : 1);
    if (slowest && *slowest <= rate) continue;
    slowest = rate;
    excerpt = fmt::format("{}: {} bytes, average {:.2f} Gb/s", run.command, row.bytes,
                          row.average_gbit_per_s);
  }
  builder.Add(subject, "rdma.pair_rate", *slowest, Unit::kGbitPerSec, excerpt);
  return builder.Take();
}

}  // namespace muster::rdma
