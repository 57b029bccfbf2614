#include "backend/kubernetes/sched/ssh_keys.h"

#include <gtest/gtest.h>

namespace muster::kubesched {
namespace {

// tests/e2e/dialects asks ssh-keygen whether both halves are one pair.
TEST(SshKeys, ArePemAndAnAuthorizedKeysLineAndNewEachTime) {
  const auto keys = MakeSshKeys(), others = MakeSshKeys();
  ASSERT_TRUE(keys.ok() && others.ok());
  EXPECT_TRUE(keys->private_pem.starts_with("-----BEGIN PRIVATE KEY-----\n"));
  // "ssh-rsa" and the exponent 65537, as RFC 4253 writes them.
  EXPECT_TRUE(keys->public_line.starts_with("ssh-rsa AAAAB3NzaC1yc2EAAAADAQAB"));
  EXPECT_NE(keys->public_line, others->public_line);
}

}  // namespace
}  // namespace muster::kubesched
