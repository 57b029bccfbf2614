#include <cstdint>
#include <string>
#include <string_view>

#include "probes/prometheus/alert_proof.h"
#include "probes/prometheus/api.h"
#include "probes/prometheus/probes.h"

// The first byte chooses the parser.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace muster;
  using namespace muster::prometheus;
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  Reading reading;
  reading.host = "monitor";
  reading.text = std::string(text);
  switch (data[0] % 8) {
    case 0:
      (void)ParseSeriesReading(reading);
      break;
    case 1:
      (void)ParseTargetsReading(reading);
      break;
    case 2:
      (void)ParseAlertsReading(reading);
      break;
    case 3:
      (void)ParseAlertmanagerReading(reading);
      break;
    case 4:
      (void)ParseAlertProof(reading);
      break;
    case 5:
      (void)ParseWebhook(text);
      break;
    case 6:
      (void)ParseRules(text);
      break;
    default:
      (void)ParseAlertmanagers(text);
      (void)ParsePromDuration(text);
      (void)ParseSampleValue(text);
  }
  return 0;
}
