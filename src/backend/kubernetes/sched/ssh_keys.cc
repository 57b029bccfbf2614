#include "backend/kubernetes/sched/ssh_keys.h"

#include <memory>

#include <openssl/bio.h>
#include <openssl/bn.h>
#include <openssl/core_names.h>
#include <openssl/evp.h>
#include <openssl/pem.h>

#include "kube/base64.h"

namespace muster::kubesched {

namespace {

template <auto Free>
struct With {
  template <typename T>
  void operator()(T* what) const {
    Free(what);
  }
};

// As RFC 4251 writes them: a length of four bytes, then the bytes; a number keeps its sign.
std::string SshString(const std::string& bytes) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(bytes.size() >> shift);
  return text + bytes;
}
std::string SshNumber(const EVP_PKEY* key, const char* name) {
  BIGNUM* number = nullptr;
  if (EVP_PKEY_get_bn_param(key, name, &number) != 1) return "";
  const std::unique_ptr<BIGNUM, With<BN_free>> owned(number);
  std::string bytes(static_cast<size_t>(BN_num_bytes(number)), '\0');
  BN_bn2bin(number, reinterpret_cast<unsigned char*>(bytes.data()));
  if (!bytes.empty() && (bytes[0] & 0x80) != 0) bytes.insert(bytes.begin(), '\0');
  return SshString(bytes);
}

}  // namespace

Result<SshKeys> MakeSshKeys() {
  constexpr size_t kBits = 3072;
  const std::unique_ptr<EVP_PKEY, With<EVP_PKEY_free>> key(
      EVP_PKEY_Q_keygen(nullptr, nullptr, "RSA", kBits));
  const std::unique_ptr<BIO, With<BIO_free_all>> pem(BIO_new(BIO_s_mem()));
  if (!key || !pem ||
      PEM_write_bio_PrivateKey(pem.get(), key.get(), nullptr, nullptr, 0, nullptr, nullptr) != 1)
    return Fail(Code::kInternal, "no RSA key could be made for the ssh plugin");
  char* data = nullptr;
  const long size = BIO_get_mem_data(pem.get(), &data);
  SshKeys keys;
  keys.private_pem.assign(data, static_cast<size_t>(size));
  keys.public_line =
      "ssh-rsa " +
      kube::ToBase64(SshString("ssh-rsa") + SshNumber(key.get(), OSSL_PKEY_PARAM_RSA_E) +
                     SshNumber(key.get(), OSSL_PKEY_PARAM_RSA_N)) +
      "\n";
  return keys;
}

}  // namespace muster::kubesched
