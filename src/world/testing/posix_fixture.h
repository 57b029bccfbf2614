// The real ports of this machine, and a folder that goes with the test.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "world/posix/posix_world.h"

namespace muster::testing {

class PosixTest : public ::testing::Test {
 protected:
  PosixTest() {
    std::string pattern = (std::filesystem::temp_directory_path() / "muster-world-XXXXXX").string();
    folder_ = ::mkdtemp(pattern.data());
  }
  ~PosixTest() override { std::filesystem::remove_all(folder_); }
  std::string Path(std::string_view name) const { return folder_ + "/" + std::string(name); }
  CommandResult Run(Command command) {
    Result<CommandResult> result = world_.ports().processes.Run(command);
    EXPECT_TRUE(result.ok()) << (result.ok() ? "" : result.error().ToString());
    return result.ok() ? *result : CommandResult{};
  }

  PosixWorld world_;
  World w_ = world_.ports();
  std::string folder_;
};

}  // namespace muster::testing
