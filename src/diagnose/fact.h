// What the readers of the diagnosis bring back: one thing that some text says, with the line that
// says it. Facts are values; nothing here judges. Names of facts are those of the catalogue's signs
// ("nccl.wc_error") or of a reader ("smi.temperature").
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/time.h"

namespace muster::diagnose {

// Where a line stands. `file` is the name the person gave, or "archive.tar!member".
struct Place {
  std::string file;
  size_t line = 0;  // from 1; 0 = the whole file
  auto operator<=>(const Place&) const = default;
  std::string ToString() const;
};

using Attributes = std::vector<std::pair<std::string, std::string>>;

// What a fact is about, where its line or those above it name it (object.h): "pod" "ml" "train-0".
// Of a server of files the scope is the host that says it.
struct Object {
  std::string kind, scope, name;
  bool known() const { return !name.empty(); }
  bool operator==(const Object&) const = default;
};

struct Fact {
  std::string id;
  Attributes attrs;  // captured words, and host, rank, pci, device where the line names them
  Place at;
  std::string text;                    // the line: printable, no escapes, at most kTextBytes
  std::optional<TimePoint> time = {};  // of the year 1972: logs disagree on whether to print a year
  size_t order = 0;                    // position in the whole input
  size_t count = 1;                    // lines that say the same; this is the first
  size_t last = 0;                     // how many facts were added before the last of them
  Object object = {};

  // "" when there is no such attribute.
  std::string_view Get(std::string_view name) const;
  std::optional<double> Number(std::string_view name) const;
  void Set(std::string_view name, std::string_view value);  // an empty value is not stored
};
inline constexpr size_t kTextBytes = 400;
// The attribute with the title that a sign has of its own.
inline constexpr std::string_view kOwnTitle = "title";

// All facts of one diagnosis, bounded: the same fact (id, attributes, object) is counted, and of
// one id at most kPerId are told apart. Memory is O(ids x kPerId), whatever the size of the input.
class FactStore {
 public:
  static constexpr size_t kPerId = 4096;
  void Add(Fact fact);
  // Gives every fact of one id an attribute that only the whole input tells.
  void SetAll(std::string_view id, std::string_view name, std::string_view value);
  const std::vector<Fact>& all() const { return facts_; }
  std::vector<const Fact*> Of(std::string_view id) const;
  bool Has(std::string_view id) const { return by_id_.contains(std::string(id)); }
  const Fact* First(std::string_view id) const;
  size_t size() const { return facts_.size(); }

 private:
  std::vector<Fact> facts_;
  size_t added_ = 0;
  std::unordered_map<std::string, size_t> seen_;  // key of a fact -> index
  std::map<std::string, std::vector<size_t>, std::less<>> by_id_;
};

// "GPU {pci} of {host}" with the attributes filled in; a name that the fact lacks becomes nothing,
// and what is left of brackets and blanks around it is tidied.
std::string Fill(std::string_view pattern, const Fact& fact);

}  // namespace muster::diagnose
