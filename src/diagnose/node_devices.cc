#include "diagnose/node_devices.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::diagnose {

void TellShort(std::string_view resource, int64_t capacity, int64_t allocatable,
               const std::string& host, const Place& at, FactStore& facts) {
  if (allocatable >= capacity) return;
  facts.Add({"node.devices_short",
             {{"resource", std::string(resource)},
              {"capacity", std::to_string(capacity)},
              {"allocatable", std::to_string(allocatable)},
              {"host", host}},
             at,
             fmt::format("{}: capacity {}, allocatable {}", resource, capacity, allocatable)});
}

void NodeDevices::Open(Block block, size_t indent) {
  block_ = block;
  indent_ = indent;
  // The second block of one kind belongs to the next node.
  auto& list = block == Block::kCapacity ? capacity_ : allocatable_;
  if (list.empty()) return;
  capacity_.clear();
  allocatable_.clear();
}

void NodeDevices::Line(std::string_view line, const Place& at, const std::string& host,
                       FactStore& facts) {
  const size_t indent = line.find_first_not_of(' ');
  if (indent == std::string_view::npos) return;
  const std::string_view text = Trim(line);
  if (EqualsIgnoreCase(text, "capacity:")) return Open(Block::kCapacity, indent);
  if (EqualsIgnoreCase(text, "allocatable:")) return Open(Block::kAllocatable, indent);
  const size_t colon = text.find(':');
  const size_t slash = text.find('/');
  if (colon == std::string_view::npos || slash == std::string_view::npos || slash > colon ||
      indent <= indent_) {
    block_ = Block::kNone;
    return;
  }
  std::string_view value = Trim(text.substr(colon + 1));
  if (value.size() > 2 && value.front() == '"' && value.back() == '"')
    value = value.substr(1, value.size() - 2);
  const auto count = ParseInt(value);
  if (block_ == Block::kNone || !count.ok() || *count < 0 || *count > 4096) return;
  const std::string resource(text.substr(0, colon));
  (block_ == Block::kCapacity ? capacity_ : allocatable_)[resource] = static_cast<int>(*count);
  const auto has = capacity_.find(resource), offers = allocatable_.find(resource);
  if (has != capacity_.end() && offers != allocatable_.end())
    TellShort(resource, has->second, offers->second, host, at, facts);
}

}  // namespace muster::diagnose
