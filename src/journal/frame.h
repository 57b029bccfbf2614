// How records lie in the file: the grammar of docs/design/journal.md in code. Whoever writes and
// whoever reads share it.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

namespace muster::journal {

inline constexpr uint32_t kFormatVersion = 1;
inline constexpr size_t kFileHeaderBytes = 16;
inline constexpr size_t kFrameHeaderBytes = 24;
inline constexpr size_t kDigestBytes = 32;
inline constexpr size_t kFrameOverheadBytes = kFrameHeaderBytes + kDigestBytes;
inline constexpr uint32_t kMaxPayloadBytes = 64u << 20;

using Digest = std::array<unsigned char, kDigestBytes>;

// What stands at the beginning of every journal of this version.
std::string FileHeader();
// An intact header, of this version or another. `bytes` has kFileHeaderBytes.
bool IsFileHeaderOfAnyVersion(std::string_view bytes);

struct FrameHeader {
  uint32_t length = 0;  // of the payload, bytes
  uint32_t type = 0;    // the caller's; this room does not know what it means
  uint64_t sequence = 0;
  uint32_t payload_crc = 0;
};
std::string EncodeFrameHeader(const FrameHeader& header);
// `bytes` has at least kFrameHeaderBytes. False when its own check sum is wrong.
bool DecodeFrameHeader(std::string_view bytes, FrameHeader& header);
// The sequence number alone, unchecked.
uint64_t SequenceAt(std::string_view bytes);

// The digest that runs through the file: of the file header first, then for each frame
// SHA-256(previous digest, frame header, payload). So each frame vouches for all before it. Not for
// threads.
class Chain {
 public:
  Chain();
  ~Chain();
  void Add(std::string_view frame_header, std::string_view payload);
  // Back to an earlier place in the chain.
  void Set(const Digest& digest) { digest_ = digest; }
  const Digest& value() const { return digest_; }
  std::string_view digest() const {
    return {reinterpret_cast<const char*>(digest_.data()), digest_.size()};
  }

 private:
  struct Hasher;  // an OpenSSL context, kept because making one costs more than hashing a record
  std::unique_ptr<Hasher> hasher_;
  Digest digest_{};
};

}  // namespace muster::journal
