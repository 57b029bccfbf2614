#include "diagnose/fact.h"

#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/message.h"

namespace muster::diagnose {

std::string Place::ToString() const { return line == 0 ? file : fmt::format("{}:{}", file, line); }

std::string_view Fact::Get(std::string_view name) const {
  for (const auto& [key, value] : attrs)
    if (key == name) return value;
  return {};
}

std::optional<double> Fact::Number(std::string_view name) const {
  std::string number(Get(name));
  // "12 %", "81 C" and "16x" with their unit.
  if (const size_t blank = number.find(' '); blank != std::string::npos) number.resize(blank);
  while (!number.empty() && (number.back() == '%' || number.back() == 'x' || number.back() == 'C'))
    number.pop_back();
  const auto value = ParseDouble(number);
  if (!value.ok()) return std::nullopt;
  return *value;
}

void Fact::Set(std::string_view name, std::string_view value) {
  if (value.empty()) return;
  for (auto& [key, old] : attrs) {
    if (key == name) {
      old = value;
      return;
    }
  }
  attrs.emplace_back(name, value);
}

namespace {
std::string KeyOf(const Fact& fact) {
  std::string key = fact.id;
  for (const auto& [name, value] : fact.attrs) {
    key += '\x1f';
    key += name;
    key += '\x1e';
    key += value;
  }
  for (const std::string* part : {&fact.object.kind, &fact.object.scope, &fact.object.name}) {
    key += '\x1c';
    key += *part;
  }
  key += '\x1d';
  key += fact.at.file;
  return key;
}
}  // namespace

void FactStore::Add(Fact fact) {
  std::string key = KeyOf(fact);
  if (const auto it = seen_.find(key); it != seen_.end()) {
    facts_[it->second].count += fact.count;
    facts_[it->second].last = added_++;
    return;
  }
  auto& indices = by_id_[fact.id];
  if (indices.size() >= kPerId) {
    Fact& rest = facts_[indices.back()];  // of several objects, then of none that is known
    if (rest.object != fact.object) rest.object = {};
    rest.count += fact.count;
    rest.last = added_++;
    return;
  }
  fact.order = facts_.size();
  fact.last = added_++;
  indices.push_back(facts_.size());
  seen_.emplace(std::move(key), facts_.size());
  facts_.push_back(std::move(fact));
}

void FactStore::SetAll(std::string_view id, std::string_view name, std::string_view value) {
  const auto it = by_id_.find(id);
  if (it == by_id_.end()) return;
  for (const size_t index : it->second) facts_[index].Set(name, value);
}

std::vector<const Fact*> FactStore::Of(std::string_view id) const {
  std::vector<const Fact*> found;
  if (const auto it = by_id_.find(id); it != by_id_.end())
    for (const size_t i : it->second) found.push_back(&facts_[i]);
  return found;
}

const Fact* FactStore::First(std::string_view id) const {
  const auto it = by_id_.find(id);
  return it == by_id_.end() || it->second.empty() ? nullptr : &facts_[it->second.front()];
}

namespace {
// A name that a structured line quotes inside of its own quotes: \"a\".
std::string WithoutEscapes(std::string_view value) {
  std::string out(value);
  for (size_t at = 0; (at = out.find("\\\"", at)) != std::string::npos; ++at) out.erase(at, 1);
  return out;
}
}  // namespace

std::string Fill(std::string_view pattern, const Fact& fact) {
  // A part in [[ ]] is left out when one of its names has no value.
  std::string out;
  for (size_t i = 0; i < pattern.size();) {
    if (pattern.compare(i, 2, "[[") == 0) {
      const size_t end = pattern.find("]]", i);
      if (end != std::string_view::npos) {
        const std::string_view part = pattern.substr(i + 2, end - i - 2);
        const size_t open = part.find('{'), close = part.find('}');
        if (open != std::string_view::npos && close != std::string_view::npos && close > open &&
            !fact.Get(part.substr(open + 1, close - open - 1)).empty())
          out += Fill(part, fact);
        i = end + 2;
        continue;
      }
    }
    if (pattern[i] == '{') {
      const size_t end = pattern.find('}', i);
      if (end != std::string_view::npos) {
        const std::string_view name = pattern.substr(i + 1, end - i - 1);
        const std::string value = WithoutEscapes(fact.Get(name));
        out += value.empty() ? std::string("?") : ShortenMiddle(value, name == "line" ? 200 : 120);
        i = end + 1;
        continue;
      }
    }
    out += pattern[i++];
  }
  return out;
}

}  // namespace muster::diagnose
