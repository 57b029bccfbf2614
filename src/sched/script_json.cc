#include "sched/script_json.h"

#include <cstring>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/strings.h"

namespace muster::sched {

namespace od = simdjson::ondemand;

namespace {
constexpr int kDeepest = 24;
}

std::string_view ToString(JsonValue::Type type) {
  switch (type) {
    case JsonValue::Type::kNull:
      return "null";
    case JsonValue::Type::kBool:
      return "true or false";
    case JsonValue::Type::kInteger:
      return "a whole number";
    case JsonValue::Type::kOther:
      return "a fraction";
    case JsonValue::Type::kText:
      return "a text";
    case JsonValue::Type::kArray:
      return "a list";
    case JsonValue::Type::kObject:
      return "an object";
  }
  return "";
}

struct JsonLine::Parser {
  od::parser parser;
  std::vector<char> buffer;  // the line with simdjson's padding
};

JsonLine::JsonLine() : parser_(std::make_unique<Parser>()) {}
JsonLine::~JsonLine() = default;

tl::unexpected<Error> JsonLine::Wrong(int column, const std::string& what) const {
  return Fail(Code::kInvalid, fmt::format("line {}, column {}: {}", line_, column, what));
}

// Walks simdjson's document once, front to back, as its on-demand interface wants.
struct JsonBuilder {
  JsonLine& line;
  const char* begin;
  const char* end;
  od::document* document = nullptr;
  int error_column = 1;
  std::string error;

  int ColumnOf(const char* at) const {
    return at >= begin && at <= end ? static_cast<int>(at - begin) + 1 : 1;
  }
  bool Wrong(simdjson::error_code code) {
    const char* at = nullptr;
    if (document != nullptr && document->current_location().get(at) == simdjson::SUCCESS)
      error_column = ColumnOf(at);
    error = fmt::format("this is no JSON: {}", simdjson::error_message(code));
    return false;
  }
  bool WrongAt(int column, std::string what) {
    error_column = column;
    error = std::move(what);
    return false;
  }
  int New(int column) {
    JsonValue value;
    value.column = column;
    line.values_.push_back(value);
    return static_cast<int>(line.values_.size()) - 1;
  }
  JsonValue& At(int index) { return line.values_[static_cast<size_t>(index)]; }

  bool Object(od::object object, int self, int depth) {
    At(self).type = JsonValue::Type::kObject;
    int last = -1;
    for (auto field_result : object) {
      od::field field;
      if (const auto e = std::move(field_result).get(field)) return Wrong(e);
      const int key_column = ColumnOf(field.key().raw()) - 1;
      std::string_view key;
      if (const auto e = field.unescaped_key().get(key)) return Wrong(e);
      for (int i = At(self).first_child; i >= 0; i = At(i).next) {
        if (At(i).key == key)
          return WrongAt(key_column, fmt::format("the key \"{}\" stands here twice",
                                                 Printable(Shorten(key, 40))));
      }
      od::value value = field.value();
      const int child = Value(value, depth + 1);
      if (child < 0) return false;
      At(child).key = key;
      At(child).key_column = key_column;
      (last < 0 ? At(self).first_child : At(last).next) = child;
      last = child;
    }
    return true;
  }

  bool Array(od::array array, int self, int depth) {
    At(self).type = JsonValue::Type::kArray;
    int last = -1;
    for (auto element : array) {
      od::value value;
      if (const auto e = std::move(element).get(value)) return Wrong(e);
      const int child = Value(value, depth + 1);
      if (child < 0) return false;
      (last < 0 ? At(self).first_child : At(last).next) = child;
      last = child;
    }
    return true;
  }

  bool Number(od::value& value, int self) {
    od::number number;
    if (const auto e = value.get_number().get(number)) return Wrong(e);
    if (number.get_number_type() == od::number_type::signed_integer) {
      At(self).type = JsonValue::Type::kInteger;
      At(self).integer = number.get_int64();
    } else {
      At(self).type = JsonValue::Type::kOther;
    }
    return true;
  }

  // The index of the value, or -1.
  int Value(od::value& value, int depth) {
    const int self = New(ColumnOf(value.raw_json_token().data()));
    if (depth > kDeepest) {
      WrongAt(At(self).column, "nested too deeply");
      return -1;
    }
    od::json_type type;
    if (const auto e = value.type().get(type)) return Wrong(e), -1;
    bool good = true;
    switch (type) {
      case od::json_type::object: {
        od::object object;
        if (const auto e = value.get_object().get(object)) return Wrong(e), -1;
        good = Object(object, self, depth);
        break;
      }
      case od::json_type::array: {
        od::array array;
        if (const auto e = value.get_array().get(array)) return Wrong(e), -1;
        good = Array(array, self, depth);
        break;
      }
      case od::json_type::string: {
        std::string_view text;
        if (const auto e = value.get_string().get(text)) return Wrong(e), -1;
        At(self).type = JsonValue::Type::kText;
        At(self).text = text;
        break;
      }
      case od::json_type::number:
        good = Number(value, self);
        break;
      case od::json_type::boolean: {
        bool boolean = false;
        if (const auto e = value.get_bool().get(boolean)) return Wrong(e), -1;
        At(self).type = JsonValue::Type::kBool;
        At(self).boolean = boolean;
        break;
      }
      case od::json_type::null: {
        bool null = false;
        if (const auto e = value.is_null().get(null)) return Wrong(e), -1;
        if (!null) return WrongAt(At(self).column, "this is no JSON"), -1;
        break;
      }
    }
    return good ? self : -1;
  }
};

Status JsonLine::Parse(std::string_view text, int line) {
  line_ = line;
  values_.clear();
  auto& buffer = parser_->buffer;
  const size_t need = text.size() + simdjson::SIMDJSON_PADDING;
  if (buffer.size() < need) buffer.resize(need + need / 2);
  if (!text.empty()) std::memcpy(buffer.data(), text.data(), text.size());
  std::memset(buffer.data() + text.size(), 0, buffer.size() - text.size());
  JsonBuilder builder{*this, buffer.data(), buffer.data() + text.size(), nullptr, 1, {}};
  od::document document;
  if (const auto e =
          parser_->parser.iterate(buffer.data(), text.size(), buffer.size()).get(document)) {
    builder.Wrong(e);
    return Wrong(builder.error_column, builder.error);
  }
  builder.document = &document;
  od::object root;
  const size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string_view::npos || text[first] != '{')
    return Wrong(static_cast<int>(first == std::string_view::npos ? 0 : first) + 1,
                 "expected an object, {\"t\":0,\"op\":...}");
  if (const auto e = document.get_object().get(root)) {
    builder.Wrong(e);
    return Wrong(builder.error_column, builder.error);
  }
  const int self = builder.New(static_cast<int>(first) + 1);
  if (!builder.Object(root, self, 0)) return Wrong(builder.error_column, builder.error);
  const char* after = nullptr;
  if (document.current_location().get(after) == simdjson::SUCCESS)
    return Wrong(builder.ColumnOf(after), "something follows the object");
  return {};
}

}  // namespace muster::sched
