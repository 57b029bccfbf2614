#include "diagnose/decode.h"

#include <algorithm>

#include "base/strings.h"

namespace muster::diagnose {

namespace {

void AppendUtf8(uint32_t c, std::string& out) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xC0 | (c >> 6));
    out += static_cast<char>(0x80 | (c & 0x3F));
  } else {
    out += static_cast<char>(0xE0 | (c >> 12));
    out += static_cast<char>(0x80 | ((c >> 6) & 0x3F));
    out += static_cast<char>(0x80 | (c & 0x3F));
  }
}

}  // namespace

std::optional<std::string_view> Decoder::Decode(std::string_view bytes) {
  if (form_ == Form::kUnseen && !bytes.empty()) {
    form_ = Form::kPlain;
    if (bytes.starts_with("\xff\xfe")) {
      form_ = Form::kUtf16Little;
      bytes.remove_prefix(2);
    } else if (bytes.starts_with("\xfe\xff")) {
      form_ = Form::kUtf16Big;
      bytes.remove_prefix(2);
    } else if (bytes.starts_with("\xef\xbb\xbf")) {
      bytes.remove_prefix(3);
    } else if (!(bytes.size() > 2 && bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5)) {
      // A log may hold a stray zero byte (a crashed writer leaves a row of them at a page's end),
      // but not among its first bytes and not in number.
      const std::string_view head = bytes.substr(0, 8192);
      const auto zeros = std::count(head.begin(), head.end(), '\0');
      const auto odd = std::count_if(head.begin(), head.end(), [](char c) {
        const auto u = static_cast<unsigned char>(c);
        return u < 32 && c != '\n' && c != '\r' && c != '\t' && c != '\x1b' && c != '\b' &&
               c != '\f' && c != '\0';
      });
      if (head[0] == '\0' || zeros * 50 > static_cast<long>(head.size()) ||
          odd * 20 > static_cast<long>(head.size()))
        form_ = Form::kBinary;
    }
  }
  if (form_ == Form::kBinary) return std::nullopt;
  if (form_ == Form::kPlain || form_ == Form::kUnseen) return bytes;
  out_.clear();
  std::string all = odd_ + std::string(bytes);
  odd_.clear();
  if (all.size() % 2 != 0) {
    odd_ = all.back();
    all.pop_back();
  }
  for (size_t i = 0; i + 1 < all.size(); i += 2) {
    const auto a = static_cast<unsigned char>(all[i]), b = static_cast<unsigned char>(all[i + 1]);
    AppendUtf8(form_ == Form::kUtf16Little ? a | (uint32_t{b} << 8) : b | (uint32_t{a} << 8), out_);
  }
  return std::string_view(out_);
}

bool IsText(std::string_view s) {
  for (size_t i = 0; i < s.size();) {
    const auto c = static_cast<unsigned char>(s[i]);
    if (c >= 0x80) {
      const size_t length = Utf8Length(s.substr(i));
      // U+FFFD is what a decoder wrote in place of a byte that it could not read.
      if (length == 0 || s.substr(i, length) == "\xef\xbf\xbd") return false;
      i += length;
      continue;
    }
    if (c < 32 && c != '\t' && c != '\r' && c != '\b' && c != '\f' && c != '\n') {
      const bool sequence = c == 0x1b && i + 1 < s.size() &&
                            std::string_view("[]()>=78").find(s[i + 1]) != std::string_view::npos;
      if (!sequence) return false;
    }
    if (c == 0x7f) return false;
    ++i;
  }
  return true;
}

}  // namespace muster::diagnose
