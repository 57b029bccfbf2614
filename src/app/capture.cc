#include "app/capture.h"

#include <algorithm>
#include <map>
#include <regex>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "base/digest.h"
#include "base/strings.h"

namespace muster {

namespace {

using Json = nlohmann::ordered_json;

// A file name from a probe id or host; a second reading of the same probe gets ".2".
std::string FileName(const Reading& reading, int nth) {
  const Probe* probe = FindProbe(reading.probe);
  const std::string extension(probe == nullptr ? "txt" : probe->extension);
  std::string host = reading.host;
  std::replace(host.begin(), host.end(), '/', '_');
  return nth == 1 ? fmt::format("{}/{}.{}", host, reading.probe, extension)
                  : fmt::format("{}/{}.{}.{}", host, reading.probe, nth, extension);
}

Json Entry(const Reading& r, const std::string& file, const std::string& text) {
  Json entry = {{"file", file},
                {"probe", r.probe},
                {"host", r.host},
                {"command", Redact(r.command)},
                {"exit_code", r.exit_code},
                {"at", FormatTime(r.at)},
                {"at_ns", r.at.time_since_epoch().count()},
                {"took_s", Seconds(r.took)},
                {"stderr", Redact(r.stderr_text)},
                {"origin", ToString(r.origin)},
                {"sha256", Sha256Hex(text)}};
  if (r.fault)
    entry["fault"] = {{"reason", ToString(r.fault->reason)}, {"detail", r.fault->detail}};
  return entry;
}

Result<Reading> FromEntry(Files& files, const std::string& folder, const Json& entry) {
  Reading r;
  try {
    const auto file = entry.at("file").get<std::string>();
    r.probe = entry.at("probe").get<std::string>();
    r.host = entry.at("host").get<std::string>();
    r.command = entry.at("command").get<std::string>();
    r.exit_code = entry.at("exit_code").get<int>();
    r.at = TimePoint{Duration{entry.at("at_ns").get<int64_t>()}};
    r.took = FromSeconds(entry.at("took_s").get<double>());
    r.stderr_text = entry.at("stderr").get<std::string>();
    TRY(const Origin was, ParseOrigin(entry.at("origin").get<std::string>()));
    r.origin = was == Origin::kRehearsed ? Origin::kRehearsed : Origin::kReplayed;
    if (entry.contains("fault")) {
      Unobserved fault;
      TRY(fault.reason, ParseUnknownReason(entry["fault"].at("reason").get<std::string>()));
      fault.detail = entry["fault"].at("detail").get<std::string>();
      r.fault = std::move(fault);
    }
    if (Contains(file, "..") || StartsWith(file, "/"))
      return Fail(Code::kCorrupt,
                  fmt::format("manifest.json names a file outside the capture: {}", file));
    TRY(r.text, files.Read(folder + "/" + file));
    if (Sha256Hex(r.text) != entry.at("sha256").get<std::string>()) {
      return Fail(
          Code::kCorrupt,
          fmt::format("{}/{} was changed after it was captured: its digest is not the manifest's",
                      folder, file));
    }
  } catch (const Json::exception& e) {
    return Fail(Code::kParse, fmt::format("{}/manifest.json: {}", folder, e.what()));
  }
  return r;
}

}  // namespace

namespace {

bool Hints(std::string_view line) {
  static constexpr std::string_view kHints[] = {"pass", "secret", "token",  "key",   "uthorization",
                                                "://",  "PASS",   "SECRET", "TOKEN", "KEY",
                                                "Pass", "Secret", "Token",  "Key"};
  return std::any_of(std::begin(kHints), std::end(kHints),
                     [&](std::string_view h) { return Contains(line, h); });
}

// The expressions backtrack, so a line of a megabyte is taken in pieces that end between two
// values.
std::string RedactLine(const std::string& line) {
  static const std::regex kSecrets[] = {
      std::regex(
          R"re((["']?(?:password|passwd|secret|token|api[_-]?key|access[_-]?key|private[_-]?key)["']?\s*[:=]\s*)("[^"\n]*"|'[^'\n]*'|[^\s,;}"']+))re",
          std::regex::icase | std::regex::optimize),
      std::regex(R"((authorization\s*:\s*(?:bearer|basic)\s+)([^\s"']+))",
                 std::regex::icase | std::regex::optimize),
      std::regex(R"((://[^/\s:@]+:)([^@\s/]+)(?=@))", std::regex::optimize),
  };
  constexpr size_t kPiece = 4096;
  if (!Hints(line)) return line;
  std::string safe;
  for (size_t at = 0; at < line.size();) {
    size_t end = line.size();
    if (end - at > kPiece) {
      const size_t cut = line.find_last_of(",;{}[]&", at + kPiece);
      end = cut == std::string::npos || cut <= at ? at + kPiece : cut + 1;
    }
    std::string piece = line.substr(at, end - at);
    for (const std::regex& secret : kSecrets)
      piece = std::regex_replace(piece, secret, "$1[redacted]");
    safe += piece;
    at = end;
  }
  return safe;
}

}  // namespace

std::string Redact(std::string_view text) {
  std::string safe;
  size_t at = 0;
  bool in_key = false;
  while (at < text.size()) {
    const size_t end = text.find('\n', at);
    std::string line(
        text.substr(at, end == std::string_view::npos ? std::string_view::npos : end - at));
    if (Contains(line, "-----BEGIN ") && Contains(line, "PRIVATE KEY")) in_key = true;
    const bool last_of_key = in_key && Contains(line, "-----END ");
    if (in_key) {
      line = "[redacted]";
    } else {
      line = RedactLine(line);
    }
    if (last_of_key) in_key = false;
    safe += line;
    if (end == std::string_view::npos) break;
    safe += '\n';
    at = end + 1;
  }
  return safe;
}

Result<CaptureResult> Capture(SiteContext& context, const std::string& out, Progress& progress) {
  Files& files = context.world.files;
  if (auto there = files.List(out); there.ok() && !there->empty())
    return Fail(Code::kConflict, fmt::format("{} is not empty", out));
  CaptureResult result;
  std::map<std::string, int> nth;
  Json manifest = {{"apiVersion", "muster/v1"},   {"kind", "Capture"},
                   {"site", context.site().name}, {"at", FormatTime(context.world.clock.Now())},
                   {"version", MUSTER_VERSION},   {"entries", Json::array()}};
  const std::vector<std::string> nodes = context.site().ScopeNodes("").value();
  for (int gate = 1; gate <= 5; ++gate) {
    const std::vector<PlannedRead> reads = PlanReads(context.site(), gate, nodes);
    const GateInfo* info = context.catalogue->Gate(gate);
    progress.GateBegins(gate, info == nullptr ? "" : info->name, reads.size());
    const Evidence evidence = Observe(*context.hosts, reads, {true, context.site().window},
                                      context.world.clock, progress);
    for (const Reading& reading : evidence.readings) {
      const std::string file = FileName(reading, ++nth[reading.host + "/" + reading.probe]);
      const std::string text = Redact(reading.text);
      TRY_VOID(files.MakeFolders(out + "/" + file.substr(0, file.rfind('/'))));
      TRY_VOID(files.WriteAtomic(out + "/" + file, text));
      manifest["entries"].push_back(Entry(reading, file, text));
      ++result.files;
      if (reading.fault)
        result.faults.push_back(
            fmt::format("{} on {}: {}", reading.probe, reading.host, reading.fault->detail));
    }
  }
  TRY_VOID(files.WriteAtomic(out + "/site.yaml", Redact(context.file->text)));
  TRY_VOID(files.WriteAtomic(out + "/manifest.json",
                             manifest.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"));
  return result;
}

Result<CaptureSet> ReadCapture(Files& files, const std::string& folder) {
  TRY(const std::string text, files.Read(folder + "/manifest.json").Context("reading the capture"));
  const Json manifest = Json::parse(text, nullptr, false);
  if (!manifest.is_object() || manifest.value("kind", "") != "Capture" ||
      !manifest.contains("entries") || !manifest["entries"].is_array()) {
    return Fail(Code::kParse,
                fmt::format("{}/manifest.json is not the manifest of a capture", folder));
  }
  CaptureSet set;
  TRY(set.site_text, files.Read(folder + "/site.yaml"));
  for (const Json& entry : manifest["entries"]) {
    TRY(Reading reading, FromEntry(files, folder, entry));
    set.readings.push_back(std::move(reading));
  }
  return set;
}

}  // namespace muster
