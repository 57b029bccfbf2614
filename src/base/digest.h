// Digests and signatures: SHA-256 names evidence, CRC-32C guards journal frames, Ed25519 signs
// sign-offs and waivers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster {

// Lower-case hexadecimal SHA-256 of the bytes.
std::string Sha256Hex(std::string_view bytes);
// CRC-32C (Castagnoli, reflected 0x1EDC6F41), as used by LevelDB and iSCSI (RFC 3720, B.4). `seed`
// continues an earlier CRC.
uint32_t Crc32c(std::string_view bytes, uint32_t seed = 0);

std::string HexEncode(std::string_view bytes);
Result<std::string> HexDecode(std::string_view hex);
std::string Base64Encode(std::string_view bytes);

// An Ed25519 key pair (RFC 8032), both halves as hexadecimal.
struct SigningKey {
  std::string secret_hex;
  std::string public_hex;
};
Result<SigningKey> NewSigningKey();
// Signature as hexadecimal.
Result<std::string> Sign(const SigningKey& key, std::string_view message);
// True when `signature_hex` is this key's signature of the message; an unreadable key or signature
// is false.
bool VerifySignature(std::string_view public_hex, std::string_view message,
                     std::string_view signature_hex);

}  // namespace muster
