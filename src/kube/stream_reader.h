// The two shapes in which an API server hands over many objects: a list document, and a watch's
// lines. Both give each object's own JSON text, so that whoever knows the kind decodes it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "base/result.h"

namespace muster::kube {

struct ListPage {
  std::string resource_version, continue_token;
  size_t items = 0;
};

// Calls `each` for every item's text, in order; its error ends the reading. A cut or otherwise
// broken document is kParse, though items may have been handed out before that was seen.
Result<ListPage> ReadList(std::string_view body,
                          const std::function<Status(std::string_view json)>& each);

enum class WatchKind { kAdded, kModified, kDeleted, kBookmark, kError };

struct WatchEvent {
  WatchKind kind = WatchKind::kError;
  std::string_view object;  // JSON text inside the line
};

// One line of a watch. kParse for anything that is no whole event.
Result<WatchEvent> ReadWatchLine(std::string_view line);

// Pieces of bytes in, whole lines out. What is left at the end is a cut event: it never happened.
class LineSplitter {
 public:
  // A line of more than `limit` bytes is an error: etcd keeps objects of 1.5 MiB.
  explicit LineSplitter(size_t limit = 64u << 20) : limit_(limit) {}
  // Calls `line` for each; false from it stops, and the rest is dropped.
  Status Feed(std::string_view bytes, const std::function<bool(std::string_view)>& line);
  size_t held() const { return held_.size(); }

 private:
  size_t limit_;
  std::string held_;
};

}  // namespace muster::kube
