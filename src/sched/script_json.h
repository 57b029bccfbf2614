// One JSON object as a flat tree whose every value and key knows its column. Private to the .cc
// files of this room that read scripts: simdjson parses, this keeps what a strict reader needs.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace muster::sched {

struct JsonValue {
  enum class Type : uint8_t { kNull, kBool, kInteger, kOther, kText, kArray, kObject };
  Type type = Type::kNull;
  bool boolean = false;
  int column = 0, key_column = 0;  // from 1
  int64_t integer = 0;
  std::string_view text, key;  // valid until the next Parse
  int first_child = -1, next = -1;
};
std::string_view ToString(JsonValue::Type type);

class JsonLine {
 public:
  JsonLine();
  ~JsonLine();
  // The root is values()[0], an object. Messages begin with "line N, column M: ".
  Status Parse(std::string_view text, int line);
  const JsonValue& At(int index) const { return values_[static_cast<size_t>(index)]; }
  int IndexOf(const JsonValue& value) const { return static_cast<int>(&value - values_.data()); }
  int line() const { return line_; }
  tl::unexpected<Error> Wrong(int column, const std::string& what) const;

 private:
  struct Parser;
  std::unique_ptr<Parser> parser_;
  std::vector<JsonValue> values_;
  int line_ = 0;
  friend struct JsonBuilder;
};

}  // namespace muster::sched
