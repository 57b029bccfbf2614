#include "probes/dcgm_exporter/probes.h"

#include <fmt/format.h>

#include "base/strings.h"
#include "probes/dcgm_exporter/gpu_page.h"

namespace muster {

namespace dcgm_exporter {

namespace {

constexpr std::string_view kPage = "dcgm_exporter.page";
constexpr std::string_view kGpus = "exporter.gpus";
constexpr std::string_view kBlank = "exporter.blank_fields";

// A reading keeps the body alone, so the dialect is told from the text: only OpenMetrics ends in "#
// EOF".
Dialect DialectOfPage(std::string_view text) {
  return EndsWith(Trim(text), "# EOF") ? Dialect::kOpenMetrics : Dialect::kText004;
}

}  // namespace

Reading CollectPage(const HostPorts& ports) {
  HttpRequest request;
  request.url = "http://localhost:9400/metrics";
  request.headers["Accept"] = "text/plain; version=0.0.4";
  return ReadUrl(ports, kPage, request);
}

Observations ParsePage(const Reading& reading) {
  if (reading.fault) return {};
  ObservationBuilder out(reading);
  const Subject node = NodeSubject(reading.host);
  const auto unknown = [&](UnknownReason reason, const std::string& detail) {
    out.AddUnobserved(node, kGpus, reason, detail);
    out.AddUnobserved(node, kBlank, reason, detail);
    return out.Take();
  };
  const GpuPage page = ParseGpuPage(reading.text, DialectOfPage(reading.text));
  if (page.text.truncated) {
    return unknown(UnknownReason::kUnparsable, "the page ends in the middle of a line");
  }
  if (page.text.bad_lines > 0) {
    const BadLine& first = page.text.bad.front();
    return unknown(UnknownReason::kUnparsable,
                   fmt::format("{} bad lines, the first is line {}: {}", page.text.bad_lines,
                               first.number, first.what));
  }
  if (page.gpus.empty()) {
    return unknown(
        UnknownReason::kNotObserved,
        fmt::format("the page has {} samples, none of them of a GPU", page.text.samples));
  }
  const auto gpus = static_cast<int64_t>(page.GpusWithData());
  out.Add(node, kGpus, gpus, Unit::kCount,
          fmt::format("{} of {} rows of GPUs have a utilisation", gpus, page.gpus.size()));
  const std::vector<std::string> blank = page.BlankFields();
  out.Add(node, kBlank, static_cast<int64_t>(blank.size()), Unit::kCount,
          Shorten(Join(blank, " "), 200));
  return out.Take();
}

}  // namespace dcgm_exporter

std::span<const Probe> DcgmExporterProbes() {
  static const Probe kProbes[] = {
      {dcgm_exporter::kPage,
       "txt",
       {dcgm_exporter::kGpus, dcgm_exporter::kBlank},
       dcgm_exporter::CollectPage,
       dcgm_exporter::ParsePage},
  };
  return kProbes;
}

}  // namespace muster
