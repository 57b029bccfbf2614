#include "base/digest.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>
#include <rapidcheck/gtest.h>

namespace muster {
namespace {

TEST(DigestTest, Sha256MatchesThePublishedVectors) {
  // FIPS 180-2, appendix B.
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
}

TEST(DigestTest, Crc32cMatchesThePublishedVectors) {
  EXPECT_EQ(Crc32c("123456789"), 0xe3069283u);
  // RFC 3720, B.4.
  EXPECT_EQ(Crc32c(std::string(32, '\0')), 0x8a9136aau);
  EXPECT_EQ(Crc32c(std::string(32, '\xff')), 0x62a8ab43u);
  std::string rising;
  for (char c = 0; c < 32; ++c) rising += c;
  EXPECT_EQ(Crc32c(rising), 0x46dd794eu);
  EXPECT_EQ(Crc32c(""), 0u);
}

TEST(DigestTest, Base64MatchesRfc4648) {
  EXPECT_EQ(Base64Encode(""), "");
  EXPECT_EQ(Base64Encode("f"), "Zg==");
  EXPECT_EQ(Base64Encode("foobar"), "Zm9vYmFy");
}

TEST(DigestTest, HexadecimalIsReadStrictly) {
  EXPECT_EQ(HexEncode("\x01\xab"), "01ab");
  EXPECT_EQ(*HexDecode("01AB"), "\x01\xab");
  EXPECT_FALSE(HexDecode("1").ok());
  EXPECT_FALSE(HexDecode("0x").ok());
}

// RFC 8032, 7.1, test 1 (empty message) and test 2 (one byte).
TEST(DigestTest, Ed25519MatchesRfc8032) {
  const SigningKey one{"9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
                       "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a"};
  EXPECT_EQ(
      *Sign(one, ""),
      "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701"
      "cf9b46bd25bf5f0595bbe24655141438e7a100b");
  const SigningKey two{"4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb",
                       "3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c"};
  EXPECT_EQ(
      *Sign(two, "\x72"),
      "92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da085ac1e43e15996e458f3613d"
      "0f11d8c387b2eaeb4302aeeb00d291612bb0c00");
  EXPECT_TRUE(VerifySignature(one.public_hex, "", *Sign(one, "")));
  EXPECT_FALSE(VerifySignature(two.public_hex, "", *Sign(one, "")));
}

TEST(DigestTest, NewKeysDifferAndSignForThemselvesOnly) {
  const SigningKey a = *NewSigningKey(), b = *NewSigningKey();
  EXPECT_NE(a.secret_hex, b.secret_hex);
  EXPECT_TRUE(VerifySignature(a.public_hex, "gate 1", *Sign(a, "gate 1")));
  EXPECT_FALSE(VerifySignature(a.public_hex, "gate 2", *Sign(a, "gate 1")));
  EXPECT_FALSE(VerifySignature(b.public_hex, "gate 1", *Sign(a, "gate 1")));
}

TEST(DigestTest, UnreadableKeysAndSignaturesNeverVerify) {
  const SigningKey key = *NewSigningKey();
  EXPECT_FALSE(VerifySignature("", "m", *Sign(key, "m")));
  EXPECT_FALSE(VerifySignature("zz", "m", *Sign(key, "m")));
  EXPECT_FALSE(VerifySignature(key.public_hex, "m", ""));
  EXPECT_FALSE(VerifySignature(key.public_hex.substr(2), "m", *Sign(key, "m")));
  EXPECT_FALSE(Sign({"00", "00"}, "m").ok());
  EXPECT_FALSE(Sign({"no hex", ""}, "m").ok());
}

RC_GTEST_PROP(DigestProperty, HexadecimalReadsBack, (const std::string& bytes)) {
  RC_ASSERT(*HexDecode(HexEncode(bytes)) == bytes);
}

RC_GTEST_PROP(DigestProperty, CrcContinuesOverAnyCut,
              (const std::string& a, const std::string& b)) {
  RC_ASSERT(Crc32c(b, Crc32c(a)) == Crc32c(a + b));
}

RC_GTEST_PROP(DigestProperty, AnyBitFlipChangesTheCrc, ()) {
  auto bytes = *rc::gen::nonEmpty(rc::gen::container<std::string>(rc::gen::arbitrary<char>()));
  const uint32_t before = Crc32c(bytes);
  const size_t bit = *rc::gen::inRange<size_t>(0, bytes.size() * 8);
  bytes[bit / 8] = static_cast<char>(bytes[bit / 8] ^ (1 << (bit % 8)));
  RC_ASSERT(Crc32c(bytes) != before);
}

}  // namespace
}  // namespace muster
