#include "journal/frame.h"

#include <openssl/evp.h>

#include "base/check.h"
#include "base/digest.h"

namespace muster::journal {

namespace {

constexpr std::string_view kMagic = "MUSTRJNL";

template <typename Int>
void Put(std::string& bytes, Int value) {
  for (size_t i = 0; i < sizeof(Int); ++i) bytes += static_cast<char>(value >> (8 * i) & 0xFF);
}

template <typename Int>
Int Get(std::string_view bytes, size_t at) {
  Int value = 0;
  for (size_t i = 0; i < sizeof(Int); ++i) {
    value = static_cast<Int>(value | static_cast<Int>(static_cast<unsigned char>(bytes[at + i]))
                                         << (8 * i));
  }
  return value;
}

}  // namespace

std::string FileHeader() {
  std::string bytes(kMagic);
  Put(bytes, kFormatVersion);
  Put(bytes, Crc32c(bytes));
  return bytes;
}

bool IsFileHeaderOfAnyVersion(std::string_view bytes) {
  return bytes.starts_with(kMagic) && Get<uint32_t>(bytes, 12) == Crc32c(bytes.substr(0, 12));
}

std::string EncodeFrameHeader(const FrameHeader& header) {
  std::string bytes;
  bytes.reserve(kFrameHeaderBytes);
  Put(bytes, header.length);
  Put(bytes, header.type);
  Put(bytes, header.sequence);
  Put(bytes, header.payload_crc);
  Put(bytes, Crc32c(bytes));
  return bytes;
}

bool DecodeFrameHeader(std::string_view bytes, FrameHeader& header) {
  header.length = Get<uint32_t>(bytes, 0);
  header.type = Get<uint32_t>(bytes, 4);
  header.sequence = Get<uint64_t>(bytes, 8);
  header.payload_crc = Get<uint32_t>(bytes, 16);
  return Get<uint32_t>(bytes, 20) == Crc32c(bytes.substr(0, 20));
}

uint64_t SequenceAt(std::string_view bytes) { return Get<uint64_t>(bytes, 8); }

struct Chain::Hasher {
  struct Free {
    void operator()(EVP_MD_CTX* context) const { EVP_MD_CTX_free(context); }
    void operator()(EVP_MD* md) const { EVP_MD_free(md); }
  };

  Hasher() : md(EVP_MD_fetch(nullptr, "SHA256", nullptr)), context(EVP_MD_CTX_new()) {
    CHECK(md != nullptr && context != nullptr, "OpenSSL has SHA-256");
  }
  void Begin() {
    CHECK(EVP_DigestInit_ex(context.get(), md.get(), nullptr) == 1, "SHA-256 begins");
  }
  void Add(std::string_view bytes) {
    CHECK(EVP_DigestUpdate(context.get(), bytes.data(), bytes.size()) == 1, "SHA-256 goes on");
  }
  void End(Digest& digest) {
    CHECK(EVP_DigestFinal_ex(context.get(), digest.data(), nullptr) == 1, "SHA-256 ends");
  }

  std::unique_ptr<EVP_MD, Free> md;
  std::unique_ptr<EVP_MD_CTX, Free> context;
};

Chain::Chain() : hasher_(std::make_unique<Hasher>()) {
  hasher_->Begin();
  hasher_->Add(FileHeader());
  hasher_->End(digest_);
}
Chain::~Chain() = default;

void Chain::Add(std::string_view frame_header, std::string_view payload) {
  hasher_->Begin();
  hasher_->Add(digest());
  hasher_->Add(frame_header);
  hasher_->Add(payload);
  hasher_->End(digest_);
}

}  // namespace muster::journal
