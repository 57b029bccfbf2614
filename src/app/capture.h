// Captures: what every probe read, as files a person can look at and a test can replay. A report
// from the field becomes a fixture.
#pragma once

#include <string>
#include <vector>

#include "app/bringup.h"

namespace muster {

// Reads everything the gates 1 to 5 read and writes DIR/<host>/<probe>.<ext> and DIR/manifest.json
// (probe, host, command, exit code, time, SHA-256 of each file). Secrets are redacted (see Redact).
struct CaptureResult {
  size_t files = 0;
  std::vector<std::string> faults;  // "dcgm.diag on node003: the tool did not end within 20m"
};
Result<CaptureResult> Capture(SiteContext& context, const std::string& out, Progress& progress);

// Reads such a folder back. A file whose digest does not match the manifest is kCorrupt, named.
struct CaptureSet {
  std::vector<Reading> readings;
  std::string site_text;  // the site file kept in the capture
};
Result<CaptureSet> ReadCapture(Files& files, const std::string& folder);

// Blanks what must not leave the site: values of keys that look like secrets (token, password,
// secret, api key), bearer headers, private key blocks, URLs with credentials. What was blanked
// reads "[redacted]".
std::string Redact(std::string_view text);

}  // namespace muster
