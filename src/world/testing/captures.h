// Where tests find what real tools printed. Our own captures are in the project; other people's are
// read from a folder beside it when it is there (MUSTER_SHARED overrides the place), and a test
// that needs them skips with a message when not.
#pragma once

#include <cstdlib>
#include <fstream>
#include <optional>
#include <sstream>
#include <string>

namespace muster::testing {

inline std::optional<std::string> ReadWhole(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) return std::nullopt;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}
// captures/<name> of the project; must exist. `source_dir` is MUSTER_SOURCE_DIR, which every test
// file that names it gets (cmake/rooms.cmake).
inline std::string Capture(const std::string& source_dir, const std::string& name) {
  return ReadWhole(source_dir + "/captures/" + name).value();
}
// A third-party capture, or nothing. Use: auto text = SharedCapture(MUSTER_SOURCE_DIR,
// "third_party/gpud/..."); if (!text) GTEST_SKIP() << "...";
inline std::optional<std::string> SharedCapture(const std::string& source_dir,
                                                const std::string& name) {
  const char* place = std::getenv("MUSTER_SHARED");
  return ReadWhole((place != nullptr ? std::string(place) : source_dir + "/../shared") +
                   "/captures/" + name);
}

}  // namespace muster::testing
