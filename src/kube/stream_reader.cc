#include "kube/stream_reader.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "base/strings.h"

namespace muster::kube {

namespace {

namespace ondemand = simdjson::ondemand;

tl::unexpected<Error> Broken(const char* what, simdjson::error_code why) {
  return Fail(Code::kParse, fmt::format("{}: {}", what, simdjson::error_message(why)));
}

// simdjson reads a little past the end; the copy has room for that.
simdjson::padded_string_view Padded(std::string_view text) {
  thread_local std::string scratch;
  scratch.reserve(text.size() + simdjson::SIMDJSON_PADDING);
  scratch.assign(text);
  return simdjson::padded_string_view(scratch.data(), scratch.size(), scratch.capacity());
}

}  // namespace

Result<ListPage> ReadList(std::string_view body,
                          const std::function<Status(std::string_view json)>& each) {
  // Not thread_local: `each` parses items, and a page may be large and read only once.
  ondemand::parser parser;
  std::string padded;
  padded.reserve(body.size() + simdjson::SIMDJSON_PADDING);
  padded.assign(body);
  ListPage page;
  ondemand::document document;
  ondemand::object root;
  auto failed = parser.iterate(padded.data(), padded.size(), padded.capacity()).get(document);
  if (!failed) failed = document.get_object().get(root);
  if (failed) return Broken("a list that is no JSON object", failed);
  bool has_items = false;
  for (auto field : root) {
    std::string_view key;
    ondemand::value value;
    failed = field.unescaped_key().get(key);
    if (!failed) failed = field.value().get(value);
    if (failed) return Broken("a broken list", failed);
    if (key == "metadata") {
      ondemand::object metadata;
      if (value.get_object().get(metadata)) continue;
      for (auto entry : metadata) {
        std::string_view name, text;
        if (entry.unescaped_key().get(name)) return Fail(Code::kParse, "a broken list");
        if (name != "resourceVersion" && name != "continue") continue;
        if (entry.value().get_string().get(text)) continue;
        (name == "continue" ? page.continue_token : page.resource_version) = text;
      }
    } else if (key == "items") {
      ondemand::array items;
      has_items = true;
      if (value.is_null()) continue;  // an empty list of some servers
      if ((failed = value.get_array().get(items))) return Broken("a list's items", failed);
      for (auto item : items) {
        ondemand::object object;
        std::string_view json;
        failed = item.get_object().get(object);
        if (!failed) failed = object.raw_json().get(json);
        if (failed) return Broken("an item of a list", failed);
        TRY_VOID(each(json));
        ++page.items;
      }
    }
  }
  if (!has_items) return Fail(Code::kParse, "a list without items");
  return page;
}

Result<WatchEvent> ReadWatchLine(std::string_view line) {
  thread_local ondemand::parser parser;
  const simdjson::padded_string_view padded = Padded(line);
  ondemand::document document;
  ondemand::object root, object;
  auto failed = parser.iterate(padded).get(document);
  if (!failed) failed = document.get_object().get(root);
  if (failed) return Broken("a watch event", failed);
  WatchEvent event;
  std::string_view type;
  bool has_type = false, has_object = false;
  for (auto field : root) {
    std::string_view key, json;
    failed = field.unescaped_key().get(key);
    if (!failed && key == "type") {
      failed = field.value().get_string().get(type);
      has_type = true;
    } else if (!failed && key == "object") {
      failed = field.value().get_object().get(object);
      if (!failed) failed = object.raw_json().get(json);
      if (failed) break;
      // The same place in the caller's own text.
      event.object = line.substr(static_cast<size_t>(json.data() - padded.data()), json.size());
      has_object = true;
    }
    if (failed) break;
  }
  if (failed) return Broken("a watch event", failed);
  // At the end there is no location left.
  if (document.current_location().error() == simdjson::SUCCESS) {
    return Fail(Code::kParse, "a watch event with something behind it");
  }
  if (!has_type || !has_object) return Fail(Code::kParse, "a watch event without type or object");
  if (type == "ADDED") {
    event.kind = WatchKind::kAdded;
  } else if (type == "MODIFIED") {
    event.kind = WatchKind::kModified;
  } else if (type == "DELETED") {
    event.kind = WatchKind::kDeleted;
  } else if (type == "BOOKMARK") {
    event.kind = WatchKind::kBookmark;
  } else if (type != "ERROR") {
    return Fail(Code::kParse,
                fmt::format("a watch event of type \"{}\"", Shorten(Printable(type), 40)));
  }
  return event;
}

Status LineSplitter::Feed(std::string_view bytes,
                          const std::function<bool(std::string_view)>& line) {
  while (!bytes.empty()) {
    const size_t end = bytes.find('\n');
    if (end == std::string_view::npos) {
      if (held_.size() + bytes.size() > limit_) {
        return Fail(Code::kParse, fmt::format("a line of more than {} bytes", limit_));
      }
      held_ += bytes;
      return {};
    }
    std::string_view whole = bytes.substr(0, end);
    std::string joined;
    if (!held_.empty()) {
      joined = std::move(held_);
      held_.clear();
      joined += whole;
      whole = joined;
    }
    bytes.remove_prefix(end + 1);
    if (!Trim(whole).empty() && !line(whole)) return {};
  }
  return {};
}

}  // namespace muster::kube
