#include "kube/base64.h"

#include <algorithm>
#include <cstdint>

namespace muster::kube {

namespace {

constexpr std::string_view kAlphabet =
    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::optional<std::string> FromBase64(std::string_view text) {
  std::string out;
  uint32_t bits = 0;
  int held = 0;
  size_t digits = 0;
  bool padded = false;
  for (const char c : text) {
    if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
    if (c == '=') {
      padded = true;
      continue;
    }
    const size_t value = kAlphabet.find(c);
    if (value == std::string_view::npos || padded) return std::nullopt;
    bits = (bits << 6 | static_cast<uint32_t>(value)) & 0xFFFFFF;
    held += 6;
    ++digits;
    if (held >= 8) {
      held -= 8;
      out += static_cast<char>(bits >> held & 0xFF);
    }
  }
  if (digits % 4 == 1) return std::nullopt;
  return out;
}

std::string ToBase64(std::string_view bytes) {
  std::string out;
  for (size_t at = 0; at < bytes.size(); at += 3) {
    uint32_t bits = 0;
    const size_t count = std::min<size_t>(3, bytes.size() - at);
    for (size_t i = 0; i < 3; ++i) {
      bits = bits << 8 | (i < count ? static_cast<unsigned char>(bytes[at + i]) : 0u);
    }
    for (size_t i = 0; i < 4; ++i) {
      out += i <= count ? kAlphabet[bits >> (18 - 6 * i) & 63] : '=';
    }
  }
  return out;
}

}  // namespace muster::kube
