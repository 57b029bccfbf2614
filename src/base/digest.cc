#include "base/digest.h"

#include <array>
#include <cstring>
#include <memory>

#include <openssl/evp.h>

namespace muster {

namespace {

constexpr std::array<std::array<uint32_t, 256>, 8> MakeCrcTables() {
  std::array<std::array<uint32_t, 256>, 8> tables{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t crc = i;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? 0x82F63B78u : 0u);
    tables[0][i] = crc;
  }
  for (uint32_t i = 0; i < 256; ++i) {
    for (size_t t = 1; t < 8; ++t)
      tables[t][i] = (tables[t - 1][i] >> 8) ^ tables[0][tables[t - 1][i] & 0xFF];
  }
  return tables;
}
constexpr auto kCrcTables = MakeCrcTables();

struct KeyFree {
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
using Key = std::unique_ptr<EVP_PKEY, KeyFree>;
struct ContextFree {
  void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
};
using Context = std::unique_ptr<EVP_MD_CTX, ContextFree>;

const unsigned char* Bytes(std::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

}  // namespace

std::string Sha256Hex(std::string_view bytes) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> out{};
  unsigned length = 0;
  EVP_Digest(bytes.data(), bytes.size(), out.data(), &length, EVP_sha256(), nullptr);
  return HexEncode({reinterpret_cast<const char*>(out.data()), length});
}

uint32_t Crc32c(std::string_view bytes, uint32_t seed) {
  uint32_t crc = ~seed;
  const unsigned char* at = Bytes(bytes);
  size_t left = bytes.size();
  // Eight bytes a step ("slicing by 8", Kounavis and Berry 2005).
  for (; left >= 8; left -= 8, at += 8) {
    uint32_t low = 0, high = 0;
    std::memcpy(&low, at, 4);
    std::memcpy(&high, at + 4, 4);
    low ^= crc;
    crc = kCrcTables[7][low & 0xFF] ^ kCrcTables[6][(low >> 8) & 0xFF] ^
          kCrcTables[5][(low >> 16) & 0xFF] ^ kCrcTables[4][low >> 24] ^
          kCrcTables[3][high & 0xFF] ^ kCrcTables[2][(high >> 8) & 0xFF] ^
          kCrcTables[1][(high >> 16) & 0xFF] ^ kCrcTables[0][high >> 24];
  }
  for (; left > 0; --left, ++at) crc = (crc >> 8) ^ kCrcTables[0][(crc ^ *at) & 0xFF];
  return ~crc;
}

std::string HexEncode(std::string_view bytes) {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string hex;
  hex.reserve(bytes.size() * 2);
  for (const char c : bytes) {
    hex += kDigits[static_cast<unsigned char>(c) >> 4];
    hex += kDigits[static_cast<unsigned char>(c) & 15];
  }
  return hex;
}

Result<std::string> HexDecode(std::string_view hex) {
  const auto digit = [](char c) -> int {
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : -1;
  };
  if (hex.size() % 2 != 0) return Fail(Code::kParse, "hexadecimal text of odd length");
  std::string bytes;
  for (size_t i = 0; i < hex.size(); i += 2) {
    const int high = digit(hex[i]), low = digit(hex[i + 1]);
    if (high < 0 || low < 0) return Fail(Code::kParse, "not hexadecimal text");
    bytes += static_cast<char>(high * 16 + low);
  }
  return bytes;
}

std::string Base64Encode(std::string_view bytes) {
  std::string out((bytes.size() + 2) / 3 * 4 + 1, '\0');
  const int length = EVP_EncodeBlock(reinterpret_cast<unsigned char*>(out.data()), Bytes(bytes),
                                     static_cast<int>(bytes.size()));
  out.resize(static_cast<size_t>(length));
  return out;
}

Result<SigningKey> NewSigningKey() {
  Key key(EVP_PKEY_Q_keygen(nullptr, nullptr, "ED25519"));
  std::array<unsigned char, 32> secret{}, pub{};
  size_t secret_size = secret.size(), public_size = pub.size();
  if (!key || EVP_PKEY_get_raw_private_key(key.get(), secret.data(), &secret_size) != 1 ||
      EVP_PKEY_get_raw_public_key(key.get(), pub.data(), &public_size) != 1) {
    return Fail(Code::kInternal, "OpenSSL made no Ed25519 key");
  }
  return SigningKey{HexEncode({reinterpret_cast<const char*>(secret.data()), secret_size}),
                    HexEncode({reinterpret_cast<const char*>(pub.data()), public_size})};
}

Result<std::string> Sign(const SigningKey& signing_key, std::string_view message) {
  TRY(const std::string secret, HexDecode(signing_key.secret_hex));
  Key key(EVP_PKEY_new_raw_private_key(EVP_PKEY_ED25519, nullptr, Bytes(secret), secret.size()));
  Context context(EVP_MD_CTX_new());
  std::array<unsigned char, 64> signature{};
  size_t size = signature.size();
  if (!key || EVP_DigestSignInit(context.get(), nullptr, nullptr, nullptr, key.get()) != 1 ||
      EVP_DigestSign(context.get(), signature.data(), &size, Bytes(message), message.size()) != 1) {
    return Fail(Code::kInvalid, "the signing key cannot be used");
  }
  return HexEncode({reinterpret_cast<const char*>(signature.data()), size});
}

bool VerifySignature(std::string_view public_hex, std::string_view message,
                     std::string_view signature_hex) {
  const auto pub = HexDecode(public_hex);
  const auto signature = HexDecode(signature_hex);
  if (!pub.ok() || !signature.ok()) return false;
  Key key(EVP_PKEY_new_raw_public_key(EVP_PKEY_ED25519, nullptr, Bytes(*pub), pub->size()));
  Context context(EVP_MD_CTX_new());
  return key && EVP_DigestVerifyInit(context.get(), nullptr, nullptr, nullptr, key.get()) == 1 &&
         EVP_DigestVerify(context.get(), Bytes(*signature), signature->size(), Bytes(message),
                          message.size()) == 1;
}

}  // namespace muster
