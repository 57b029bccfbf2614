#include "probes/dcgm/diag_document.h"

#include <algorithm>

#include <fmt/format.h>
#include <simdjson.h>

#include "base/strings.h"

namespace muster::dcgm {
namespace {

namespace json = simdjson::dom;

constexpr int kMostGpus = 1024;  // an id above it is a sentinel (9223372036854775794) or damage

std::string NormalName(std::string_view name) {
  std::string normal = ToLower(Trim(name));
  std::replace(normal.begin(), normal.end(), ' ', '_');
  if (normal == "gpu_memory") return "memory";
  if (normal == "eud_test") return "eud";
  return normal;
}

std::string_view Text(const json::element& element) {
  std::string_view text;
  return element.get_string().get(text) == simdjson::SUCCESS ? text : std::string_view();
}
std::string_view TextAt(const json::object& object, std::string_view key) {
  json::element found;
  return object.at_key(key).get(found) == simdjson::SUCCESS ? Text(found) : std::string_view();
}
bool ObjectAt(const json::object& object, std::string_view key, json::object& out) {
  return object.at_key(key).get_object().get(out) == simdjson::SUCCESS;
}
bool ArrayAt(const json::object& object, std::string_view key, json::array& out) {
  return object.at_key(key).get_array().get(out) == simdjson::SUCCESS;
}

void AddGpu(std::vector<int>& gpus, int64_t id) {
  if (id >= 0 && id < kMostGpus) gpus.push_back(static_cast<int>(id));
}

// "0,1,2,3", "0", 0 or [0, 1].
void ReadIds(const json::element& element, std::vector<int>& gpus) {
  int64_t id = 0;
  json::array array;
  if (element.get_int64().get(id) == simdjson::SUCCESS) {
    AddGpu(gpus, id);
  } else if (element.get_array().get(array) == simdjson::SUCCESS) {
    for (json::element one : array)
      if (one.get_int64().get(id) == simdjson::SUCCESS) AddGpu(gpus, id);
  } else {
    for (auto part : Split(Text(element), ','))
      if (auto read = ParseInt(Trim(part)); read.ok()) AddGpu(gpus, *read);
  }
}

// An info line is a remark. Some of them are the only trace of an error inside a test that passed
// (NVIDIA/DCGM issue 284: an allocation that failed); a check that was skipped because a field is
// not supported is none.
bool StatesFailure(std::string_view info) {
  const std::string text = ToLower(info);
  if (Contains(text, "skipp")) return false;
  return Contains(text, "couldn't allocate") || Contains(text, "could not allocate") ||
         Contains(text, "api call") || Contains(text, "error using cuda") ||
         Contains(text, "dcgm_fr_");
}

void Complain(DiagResult& result, std::string_view text) {
  ++result.complaints;
  if (result.first_complaint.empty()) result.first_complaint = Shorten(Printable(text), 180);
}

// A list of strings or of objects with a text inside, one string, or null; nulls in the list count
// for nothing.
template <typename Counts>
void ReadComplaints(const json::object& object, std::string_view key, DiagResult& result,
                    Counts counts) {
  json::element found;
  if (object.at_key(key).get(found) != simdjson::SUCCESS) return;
  auto take = [&](const json::element& one) {
    json::object entry;
    if (one.is_null()) return;
    std::string_view text = Text(one);
    if (one.get_object().get(entry) == simdjson::SUCCESS) {
      for (std::string_view name : {"warning", "error", "text", "info"})
        if (text.empty()) text = TextAt(entry, name);
      if (text.empty()) text = "an entry without text";
    }
    if (!text.empty() && counts(text)) Complain(result, text);
  };
  json::array array;
  if (found.get_array().get(array) == simdjson::SUCCESS)
    for (json::element one : array) take(one);
  else
    take(found);
}

DiagResult ReadResult(const json::object& object) {
  DiagResult result;
  result.outcome = ReadOutcome(TextAt(object, "status"));
  for (std::string_view key : {"gpu_ids", "gpu_id"}) {
    json::element ids;
    if (object.at_key(key).get(ids) == simdjson::SUCCESS) ReadIds(ids, result.gpus);
  }
  // 4.x names the group; an entity of another one (CPU, NVSwitch) speaks for the node.
  json::element entity;
  const std::string_view group = TextAt(object, "entity_group");
  if ((group.empty() || EqualsIgnoreCase(group, "GPU")) &&
      object.at_key("entity_id").get(entity) == simdjson::SUCCESS)
    ReadIds(entity, result.gpus);
  // A result of a GPU that does not say which one it is proves nothing of any GPU; a failure still
  // counts, for all of them.
  const bool of_gpu = group.empty() || EqualsIgnoreCase(group, "GPU");
  result.nameless = of_gpu && result.gpus.empty();
  auto any = [](std::string_view) { return true; };
  ReadComplaints(object, "warnings", result, any);
  ReadComplaints(object, "warning", result, any);
  ReadComplaints(object, "errors", result, any);
  ReadComplaints(object, "error", result, any);
  ReadComplaints(object, "info", result, StatesFailure);
  return result;
}

void ReadTest(const json::object& object, std::string_view category, DiagDocument& document) {
  DiagTest test;
  test.category = std::string(category);
  test.name = NormalName(TextAt(object, "name"));
  json::array results;
  if (ArrayAt(object, "results", results)) {
    for (json::element element : results) {
      json::object result;
      if (element.get_object().get(result) != simdjson::SUCCESS) continue;
      test.results.push_back(ReadResult(result));
    }
  }
  json::object summary;
  if (ObjectAt(object, "test_summary", summary)) {
    test.has_summary = true;
    test.summary = ReadResult(summary);
    test.summary.gpus.clear();
    test.summary.nameless = false;
  }
  document.tests.push_back(std::move(test));
}

void ReadCategories(const json::object& body, DiagDocument& document) {
  json::array categories;
  if (!ArrayAt(body, "test_categories", categories)) return;
  for (json::element element : categories) {
    json::object category;
    json::array tests;
    if (element.get_object().get(category) != simdjson::SUCCESS ||
        !ArrayAt(category, "tests", tests))
      continue;
    const std::string_view name = TextAt(category, "category");
    for (json::element one : tests) {
      json::object test;
      if (one.get_object().get(test) == simdjson::SUCCESS) ReadTest(test, name, document);
    }
  }
}

void ReadEntities(const json::object& root, DiagDocument& document) {
  json::array groups;
  if (!ArrayAt(root, "entity_groups", groups)) return;
  for (json::element element : groups) {
    json::object group;
    json::array entities;
    if (element.get_object().get(group) != simdjson::SUCCESS ||
        !ArrayAt(group, "entities", entities))
      continue;
    if (!EqualsIgnoreCase(TextAt(group, "entity_group"), "GPU")) continue;
    for (json::element one : entities) {
      json::object entity;
      json::element id;
      if (one.get_object().get(entity) == simdjson::SUCCESS &&
          entity.at_key("entity_id").get(id) == simdjson::SUCCESS)
        ReadIds(id, document.gpus);
    }
  }
}

void ReadBody(const json::object& body, DiagDocument& document) {
  if (auto error = TextAt(body, "runtime_error"); !error.empty())
    document.runtime_error = std::string(error);
  if (auto version = TextAt(body, "version"); !version.empty())
    document.version = std::string(version);
  ReadCategories(body, document);
  json::array iterations;
  if (!ArrayAt(body, "iterations", iterations)) return;
  for (json::element element : iterations) {
    json::object iteration;
    if (element.get_object().get(iteration) == simdjson::SUCCESS) ReadBody(iteration, document);
  }
}

DiagDocument Understand(const json::object& root) {
  DiagDocument document;
  if (auto error = TextAt(root, "runtime_error"); !error.empty())
    document.runtime_error = std::string(error);
  json::object part;
  if (ObjectAt(root, "metadata", part)) document.version = std::string(TextAt(part, "version"));
  for (auto [name, major] :
       {std::pair<std::string_view, int>("DCGM Diagnostic", 4), {"DCGM GPU Diagnostic", 3}}) {
    if (!ObjectAt(root, name, part)) continue;
    document.major = major;
    ReadBody(part, document);
  }
  ReadEntities(root, document);
  for (const auto& test : document.tests)
    for (const auto& result : test.results)
      document.gpus.insert(document.gpus.end(), result.gpus.begin(), result.gpus.end());
  std::sort(document.gpus.begin(), document.gpus.end());
  document.gpus.erase(std::unique(document.gpus.begin(), document.gpus.end()), document.gpus.end());
  return document;
}

// The end of the object that begins at `begin`, by counting braces outside strings; npos when it
// never ends.
size_t EndOfObject(std::string_view text, size_t begin) {
  size_t depth = 0;
  for (size_t i = begin; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '"') {
      for (++i; i < text.size() && text[i] != '"'; ++i)
        if (text[i] == '\\') ++i;
    } else if (c == '{') {
      ++depth;
    } else if (c == '}' && --depth == 0) {
      return i + 1;
    }
  }
  return std::string_view::npos;
}

}  // namespace

std::string_view ToString(Outcome outcome) {
  switch (outcome) {
    case Outcome::kPass:
      return "Pass";
    case Outcome::kWarn:
      return "Warn";
    case Outcome::kSkip:
      return "Skip";
    case Outcome::kFail:
      return "Fail";
    case Outcome::kUnreadable:
      return "?";
  }
  return "?";
}

Outcome ReadOutcome(std::string_view status) {
  const std::string word = ToLower(Trim(status));
  if (word == "pass" || word == "passed") return Outcome::kPass;
  if (word == "warn" || word == "warning") return Outcome::kWarn;
  if (word == "skip" || word == "skipped" || word == "not run" || word == "notrun")
    return Outcome::kSkip;
  if (word == "fail" || word == "failed") return Outcome::kFail;
  return Outcome::kUnreadable;
}

Result<DiagDocument> ReadDiag(std::string_view text) {
  // dcgmi and the host engine print lines before the document, and those may hold braces too: a few
  // beginnings are tried.
  constexpr int kMostBeginnings = 16;
  std::string trouble = "there is no JSON document";
  json::parser parser;
  size_t begin = 0;
  for (int tried = 0; tried < kMostBeginnings; ++tried, ++begin) {
    begin = text.find('{', begin);
    if (begin == std::string_view::npos) break;
    const size_t key = text.find_first_not_of(" \t\r\n", begin + 1);
    if (key == std::string_view::npos || text[key] != '"') continue;
    const size_t end = EndOfObject(text, begin);
    if (end == std::string_view::npos) {
      trouble = "the JSON document is cut";
      continue;
    }
    json::object root;
    const auto failed = parser.parse(text.data() + begin, end - begin, /*realloc_if_needed=*/true)
                            .get_object()
                            .get(root);
    if (failed != simdjson::SUCCESS) {
      trouble = fmt::format("no JSON document: {}", simdjson::error_message(failed));
      continue;
    }
    DiagDocument document = Understand(root);
    if (document.major != 0 || !document.runtime_error.empty()) return document;
    trouble = "the JSON document is no DCGM diagnostic";
    begin = end - 1;
  }
  return Fail(Code::kParse, trouble);
}

}  // namespace muster::dcgm
