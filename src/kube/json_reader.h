// simdjson elements with Kubernetes' habits: absent is empty, null is absent, a quantity may be a
// number. Private to the .cc files of this folder.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <simdjson.h>

#include "base/result.h"
#include "kube/core.h"

namespace muster::kube {

using Element = simdjson::dom::element;

// The parsed text lives until the next call in this thread.
Result<Element> ParseJson(std::string_view json);

// A view that no element backs is "absent".
class View {
 public:
  View() = default;
  explicit View(Element element) : element_(element), there_(!element.is_null()) {}

  bool there() const { return there_; }
  View operator[](std::string_view key) const;
  std::string Text() const;
  int64_t Int(int64_t otherwise = 0) const;
  std::optional<int64_t> MaybeInt() const;
  bool Flag() const;
  std::optional<TimePoint> Time() const;
  std::string Raw() const;  // as JSON, minified; empty when absent
  std::vector<std::string> Texts() const;
  std::vector<View> Items() const;
  Labels TextMap() const;
  // Amounts that cannot be read are left out: the API server would not have let them in.
  Amounts Quantities() const;

 private:
  Element element_;
  bool there_ = false;
};

Result<Meta> ReadMeta(View object);

}  // namespace muster::kube
