// The keys of one JSON object, each taken at most once; what nobody took is a mistake. Private to
// the .cc files of this room that read scripts.
#pragma once

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/strings.h"
#include "sched/amount.h"
#include "sched/script_json.h"

namespace muster::sched {

inline constexpr int64_t kLatest = int64_t{1} << 52;  // milliseconds

// The first mistake is kept, and everything after it reads as absent.
class Reader {
 public:
  Reader(const JsonLine& json, int self, Error*& error, Error& store)
      : json_(json), self_(json.At(self)), error_(error), store_(store) {
    if (self_.type != JsonValue::Type::kObject) Wrong(self_, "an object");
  }

  bool ok() const { return error_ == nullptr; }
  void Wrong(const JsonValue& value, std::string_view expected) {
    Say(value.column,
        fmt::format("{}expected {}, found {}",
                    value.key.empty() ? "" : fmt::format("{}: ", Printable(value.key)), expected,
                    ToString(value.type)));
  }
  void Say(int column, const std::string& what) {
    if (error_ != nullptr) return;
    store_ = json_.Wrong(column, what).value();
    error_ = &store_;
  }
  int column() const { return self_.column; }
  const JsonLine& json() const { return json_; }
  int IndexOf(const JsonValue& value) const { return json_.IndexOf(value); }

  const JsonValue* Take(std::string_view key) {
    known_.push_back(key);
    if (!ok()) return nullptr;
    for (int i = self_.first_child; i >= 0; i = json_.At(i).next) {
      if (json_.At(i).key == key) return &json_.At(i);
    }
    return nullptr;
  }
  const JsonValue* Need(std::string_view key) {
    const JsonValue* value = Take(key);
    if (value == nullptr && ok()) Say(self_.column, fmt::format("the key \"{}\" is missing", key));
    return value;
  }
  std::string Text(const JsonValue* value, bool may_be_empty = false) {
    if (value == nullptr) return {};
    if (value->type != JsonValue::Type::kText) return Wrong(*value, "a text"), std::string();
    if (value->text.empty() && !may_be_empty)
      Say(value->column, fmt::format("{} is empty", Printable(value->key)));
    return std::string(value->text);
  }
  int64_t Integer(const JsonValue* value, int64_t least, int64_t most) {
    if (value == nullptr) return least;
    if (value->type != JsonValue::Type::kInteger) return Wrong(*value, "a whole number"), least;
    if (value->integer < least || value->integer > most)
      Say(value->column, fmt::format("{}: expected {} to {}, found {}", Printable(value->key),
                                     least, most, value->integer));
    return value->integer;
  }
  std::optional<int64_t> Span(std::string_view key, int64_t least) {
    const JsonValue* value = Take(key);
    if (value == nullptr) return std::nullopt;
    return Integer(value, least, kLatest);
  }
  int64_t Amount(const JsonValue& value, std::string_view resource) {
    if (value.type != JsonValue::Type::kText) return Wrong(value, "a quantity in quotes"), 0;
    const auto amount = ParseAmount(resource, value.text);
    if (!amount.ok()) {
      Say(value.column, fmt::format("{}: {}", Printable(value.key), amount.error().message));
      return 0;
    }
    return *amount;
  }
  std::optional<int64_t> AmountIfAny(std::string_view key, std::string_view resource) {
    const JsonValue* value = Take(key);
    if (value == nullptr) return std::nullopt;
    return Amount(*value, resource);
  }
  template <typename T>
  T Choice(std::string_view key, T absent,
           std::initializer_list<std::pair<std::string_view, T>> choices, bool needed = false) {
    const JsonValue* value = needed ? Need(key) : Take(key);
    if (value == nullptr) return absent;
    if (value->type != JsonValue::Type::kText) return Wrong(*value, "a text"), absent;
    std::vector<std::string_view> names;
    for (const auto& [name, choice] : choices) {
      if (value->text == name) return choice;
      names.push_back(name);
    }
    Say(value->column, fmt::format("{}: expected one of {}, found \"{}\"", key,
                                   fmt::join(names, ", "), Printable(Shorten(value->text, 40))));
    return absent;
  }
  // Calls each(child) for the members of an object or the elements of a list.
  template <typename F>
  void Each(const JsonValue* value, JsonValue::Type type, F each) {
    if (value == nullptr) return;
    if (value->type != type) return Wrong(*value, ToString(type));
    for (int i = value->first_child; i >= 0 && ok(); i = json_.At(i).next) each(json_.At(i), i);
  }
  Reader Into(int index) { return Reader(json_, index, error_, store_); }
  void Done() {
    if (!ok()) return;
    for (int i = self_.first_child; i >= 0; i = json_.At(i).next) {
      const JsonValue& child = json_.At(i);
      if (std::find(known_.begin(), known_.end(), child.key) != known_.end()) continue;
      std::vector<std::string> known(known_.begin(), known_.end());
      const auto near = Nearest(child.key, known);
      return Say(child.key_column,
                 fmt::format("unknown key \"{}\"{}", Printable(Shorten(child.key, 40)),
                             near ? fmt::format("; did you mean \"{}\"?", *near)
                                  : fmt::format(", expected {}", fmt::join(known, ", "))));
    }
  }

 private:
  const JsonLine& json_;
  const JsonValue& self_;
  Error*& error_;
  Error& store_;
  std::vector<std::string_view> known_;
};

}  // namespace muster::sched
