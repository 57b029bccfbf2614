// How nvidia-smi writes one value: a number with its unit, a word, or one of the phrases that stand
// where a value should be. A phrase is never a value, so every reader of the tool's output goes
// through here.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace muster::nvidia_smi {

// True for what nvidia-smi prints instead of a value: "", "N/A", "[N/A]", "Not Supported", "[Not
// Supported]", "None" is one only where the caller says so, "Unknown Error", "ERR!", "GPU is lost",
// "Insufficient Permissions", "Requested functionality has been deprecated" (r580 and later), also
// in square brackets.
bool IsSentinel(std::string_view text);
// The phrases that mean that the GPU does not answer at all.
bool SaysLost(std::string_view text);

// "34 C" with unit "C" is 34. Nothing when the number or the unit is not exactly there. An empty
// unit wants a bare number.
std::optional<double> NumberWithUnit(std::string_view text, std::string_view unit);
// A bare count; "16x" with suffix "x" is 16. Nothing when negative or not whole.
std::optional<int64_t> Count(std::string_view text, std::string_view suffix = "");
// "Enabled"/"Disabled", "Yes"/"No", "Active"/"Not Active".
std::optional<bool> Flag(std::string_view text);

// A PCI address as a number that sorts as nvidia-smi numbers its GPUs: domain, bus, device,
// function. Accepts "00000000:1B:00.0", "0000:1b:00.0", "0000:1b:00" and "1b:00.0". Nothing when it
// is no address.
std::optional<uint64_t> PciKey(std::string_view text);

}  // namespace muster::nvidia_smi
