#include "app/bundle.h"

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "app/testing/lab_site.h"
#include "base/digest.h"
#include "base/strings.h"
#include "world/posix/posix_processes.h"

namespace muster {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using testing::LabSite;

// What the system's tar says of an archive.
CommandResult SystemTar(const std::string& bytes, std::vector<std::string> options) {
  std::string path = "/tmp/muster-bundle-XXXXXX";
  const int fd = ::mkstemp(path.data());
  EXPECT_GE(fd, 0);
  std::ofstream(path, std::ios::binary) << bytes;
  PosixProcesses processes;
  Command command;
  command.argv = {"tar"};
  command.argv.insert(command.argv.end(), options.begin(), options.end());
  command.argv.insert(command.argv.end(), {"-f", path});
  auto result = processes.Run(command);
  std::filesystem::remove(path);
  EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().ToString());
  return result.ok() ? *result : CommandResult{};
}

TEST(Bundle, SystemTarReadsTheArchive) {
  const std::string tar = TarOf({{"a/empty", ""},
                                 {"a/text", "hello\n"},
                                 {"a/block", std::string(512, 'x')},
                                 {"a/bytes", std::string("\0\xff\n", 3)}});
  EXPECT_EQ(tar.size() % 512, 0u);
  const CommandResult listed = SystemTar(tar, {"-t"});
  EXPECT_EQ(listed.exit_code, 0) << listed.err;
  EXPECT_EQ(listed.out, "a/empty\na/text\na/block\na/bytes\n");
  EXPECT_EQ(listed.err, "");
  EXPECT_EQ(SystemTar(tar, {"-x", "-O"}).out,
            "hello\n" + std::string(512, 'x') + std::string("\0\xff\n", 3));
}

TEST(Bundle, SameEntriesAreTheSameBytes) { EXPECT_EQ(TarOf({{"a", "1"}}), TarOf({{"a", "1"}})); }

TEST(Bundle, LongNameIsKeptWhole) {
  const std::string name =
      "muster-r-20261120T000000-0000/baselines/" + std::string(90, 'n') + ".json";
  const CommandResult listed = SystemTar(TarOf({{name, "x"}, {"after", "y"}}), {"-t"});
  EXPECT_EQ(listed.out, name + "\nafter\n") << listed.err;
}

TEST(Bundle, HoldsTheEvidenceOfARunWithItsDigests) {
  LabSite lab;
  const auto run = lab.RunGates(1, 2);
  ASSERT_TRUE(run.ok());
  World world = lab.world();
  ASSERT_TRUE(
      AddWaiver(world, lab.paths(), 5, "A", "b", lab.clock.Now() + std::chrono::hours(1)).ok());
  const auto names = WriteBundle(world, lab.paths(), run->header.run, "/out.tar");
  ASSERT_TRUE(names.ok()) << names.error().ToString();
  EXPECT_THAT(*names,
              AllOf(Contains(EndsWith("/ledger")), Contains(EndsWith("/site.yaml")),
                    Contains(EndsWith("/signatures.json")), Contains(EndsWith("/manifest.json"))));
  const std::string tar = lab.files.Read("/out.tar").value();
  const CommandResult listed = SystemTar(tar, {"-t"});
  for (const std::string& name : *names) {
    EXPECT_THAT(listed.out, HasSubstr(name + "\n"));
  }
  const std::string ledger = lab.files.Read(lab.paths().Ledger(run->header.run)).value();
  EXPECT_THAT(tar, HasSubstr(ledger)) << "the sealed ledger is in it byte for byte";
  EXPECT_THAT(tar, HasSubstr(Sha256Hex(ledger)));
}

TEST(Bundle, SigningKeyNeverLeavesTheSite) {
  LabSite lab;
  const auto run = lab.RunGates(1, 1);
  World world = lab.world();
  ASSERT_TRUE(
      AddWaiver(world, lab.paths(), 5, "A", "b", lab.clock.Now() + std::chrono::hours(1)).ok());
  ASSERT_TRUE(WriteBundle(world, lab.paths(), run->header.run, "/out.tar").ok());
  const auto key = SiteKey(world, lab.paths());
  ASSERT_TRUE(key.ok());
  EXPECT_FALSE(muster::Contains(lab.files.Read("/out.tar").value(), key->secret_hex));
}

TEST(Bundle, UnknownRunIsNamed) {
  LabSite lab;
  World world = lab.world();
  const auto names = WriteBundle(world, lab.paths(), "r-none", "/out.tar");
  ASSERT_FALSE(names.ok());
  EXPECT_THAT(names.error().ToString(), HasSubstr("r-none"));
  EXPECT_FALSE(lab.files.Stat("/out.tar").ok());
}

}  // namespace
}  // namespace muster
