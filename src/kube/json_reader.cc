#include "kube/json_reader.h"

#include <fmt/format.h>

#include "base/strings.h"

namespace muster::kube {

Result<Element> ParseJson(std::string_view json) {
  // The parser's buffers grow to the largest object and stay: one allocation for a list of pods.
  thread_local simdjson::dom::parser parser;
  Element root;
  if (const auto failed = parser.parse(json.data(), json.size()).get(root);
      failed != simdjson::SUCCESS) {
    return Fail(Code::kParse, fmt::format("no JSON: {}", simdjson::error_message(failed)));
  }
  if (!root.is_object()) return Fail(Code::kParse, "expected an object");
  return root;
}

View View::operator[](std::string_view key) const {
  if (!there_) return {};
  simdjson::dom::object object;
  Element found;
  if (element_.get_object().get(object) != simdjson::SUCCESS ||
      object.at_key(key).get(found) != simdjson::SUCCESS) {
    return {};
  }
  return View(found);
}

std::string View::Text() const {
  std::string_view text;
  if (!there_ || element_.get_string().get(text) != simdjson::SUCCESS) return {};
  return std::string(text);
}

std::optional<int64_t> View::MaybeInt() const {
  int64_t value = 0;
  if (!there_ || element_.get_int64().get(value) != simdjson::SUCCESS) return std::nullopt;
  return value;
}

int64_t View::Int(int64_t otherwise) const { return MaybeInt().value_or(otherwise); }

bool View::Flag() const {
  bool value = false;
  return there_ && element_.get_bool().get(value) == simdjson::SUCCESS && value;
}

std::optional<TimePoint> View::Time() const {
  const std::string text = Text();
  if (text.empty()) return std::nullopt;
  const auto time = ParseTime(text);
  return time.ok() ? std::optional(*time) : std::nullopt;
}

std::string View::Raw() const { return there_ ? simdjson::minify(element_) : std::string(); }

std::vector<View> View::Items() const {
  std::vector<View> items;
  simdjson::dom::array array;
  if (!there_ || element_.get_array().get(array) != simdjson::SUCCESS) return items;
  items.reserve(array.size());
  for (const Element item : array) items.emplace_back(item);
  return items;
}

std::vector<std::string> View::Texts() const {
  std::vector<std::string> texts;
  for (const View& item : Items()) texts.push_back(item.Text());
  return texts;
}

Labels View::TextMap() const {
  Labels map;
  simdjson::dom::object object;
  if (!there_ || element_.get_object().get(object) != simdjson::SUCCESS) return map;
  for (const auto [key, value] : object) map.emplace(key, View(value).Text());
  return map;
}

Amounts View::Quantities() const {
  Amounts amounts;
  simdjson::dom::object object;
  if (!there_ || element_.get_object().get(object) != simdjson::SUCCESS) return amounts;
  for (const auto [key, value] : object) {
    const View view(value);
    const auto milli = ParseMilli(value.is_string() ? view.Text() : view.Raw());
    if (milli.ok()) amounts.emplace(key, *milli);
  }
  return amounts;
}

Result<Meta> ReadMeta(View object) {
  const View metadata = object["metadata"];
  Meta meta;
  meta.name = metadata["name"].Text();
  if (meta.name.empty()) return Fail(Code::kParse, "an object without a name");
  meta.ns = metadata["namespace"].Text();
  meta.uid = metadata["uid"].Text();
  meta.resource_version = metadata["resourceVersion"].Text();
  meta.generation = metadata["generation"].Int();
  meta.created = metadata["creationTimestamp"].Time();
  meta.deleted = metadata["deletionTimestamp"].Time();
  meta.deletion_grace_s = metadata["deletionGracePeriodSeconds"].MaybeInt();
  meta.labels = metadata["labels"].TextMap();
  meta.annotations = metadata["annotations"].TextMap();
  meta.finalizers = metadata["finalizers"].Texts();
  for (const View& owner : metadata["ownerReferences"].Items()) {
    meta.owners.push_back({owner["apiVersion"].Text(), owner["kind"].Text(), owner["name"].Text(),
                           owner["uid"].Text(), owner["controller"].Flag()});
  }
  return meta;
}

}  // namespace muster::kube
