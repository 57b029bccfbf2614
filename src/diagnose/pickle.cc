// A flight recorder's dump is a Python pickle. Executing one would run whatever it says, so only
// the opcodes that build None, numbers, texts, lists, tuples and dictionaries are followed; any
// other ends the reading. Opcodes: Python's Lib/pickletools.py, protocols 2 to 5.
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <variant>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/hang.h"
#include "diagnose/section.h"

namespace muster::diagnose {

namespace {

struct PyValue;
using PyRef = std::shared_ptr<PyValue>;
struct PyValue {
  enum class Kind { kNone, kBool, kInt, kReal, kText, kList, kDict, kMark } what = Kind::kNone;
  int64_t number = 0;
  std::string text;
  std::vector<PyRef> items;                      // kList (and tuples)
  std::vector<std::pair<PyRef, PyRef>> entries;  // kDict

  const PyValue* Find(std::string_view key) const {
    for (const auto& [k, v] : entries)
      if (k->what == Kind::kText && k->text == key) return v.get();
    return nullptr;
  }
  int64_t IntOf(std::string_view key) const {
    const PyValue* v = Find(key);
    return v == nullptr ? 0 : v->number;
  }
  std::string TextOf(std::string_view key) const {
    const PyValue* v = Find(key);
    return v == nullptr ? "" : v->text;
  }
};

class Unpickler {
 public:
  explicit Unpickler(std::string_view bytes) : bytes_(bytes) {}

  // Nothing when the bytes end early, or hold an opcode that builds more than plain values.
  std::optional<PyRef> Run() {
    while (at_ < bytes_.size()) {
      const auto op = static_cast<unsigned char>(bytes_[at_++]);
      if (op == '.') return stack_.empty() ? std::nullopt : std::optional(stack_.back());
      if (!Step(op) || stack_.size() > (1u << 22)) return std::nullopt;
    }
    return std::nullopt;
  }

 private:
  using Kind = PyValue::Kind;

  PyRef New(Kind kind) {
    auto value = std::make_shared<PyValue>();
    value->what = kind;
    return value;
  }
  bool Push(PyRef value) {
    stack_.push_back(std::move(value));
    return true;
  }
  bool PushInt(int64_t number, Kind kind = Kind::kInt) {
    PyRef value = New(kind);
    value->number = number;
    return Push(std::move(value));
  }
  std::optional<uint64_t> Little(size_t count) {
    if (at_ + count > bytes_.size()) return std::nullopt;
    uint64_t value = 0;
    for (size_t i = 0; i < count; ++i)
      value |= static_cast<uint64_t>(static_cast<unsigned char>(bytes_[at_ + i])) << (8 * i);
    at_ += count;
    return value;
  }
  bool Text(size_t length_bytes) {
    const auto length = Little(length_bytes);
    if (!length || *length > bytes_.size() - at_) return false;
    PyRef value = New(Kind::kText);
    value->text = bytes_.substr(at_, *length);
    at_ += *length;
    return Push(std::move(value));
  }
  // The values above the last mark, which is taken off.
  std::optional<std::vector<PyRef>> ToMark() {
    for (size_t i = stack_.size(); i-- > 0;) {
      if (stack_[i]->what != Kind::kMark) continue;
      std::vector<PyRef> above(stack_.begin() + static_cast<std::ptrdiff_t>(i) + 1, stack_.end());
      stack_.resize(i);
      return above;
    }
    return std::nullopt;
  }
  bool Tuple(size_t count) {
    if (stack_.size() < count) return false;
    PyRef value = New(Kind::kList);
    value->items.assign(stack_.end() - static_cast<std::ptrdiff_t>(count), stack_.end());
    stack_.resize(stack_.size() - count);
    return Push(std::move(value));
  }
  bool SetItems(const std::vector<PyRef>& pairs) {
    if (stack_.empty() || stack_.back()->what != Kind::kDict || pairs.size() % 2 != 0) return false;
    for (size_t i = 0; i < pairs.size(); i += 2)
      stack_.back()->entries.emplace_back(pairs[i], pairs[i + 1]);
    return true;
  }
  bool Get(uint64_t index) {
    const auto it = memo_.find(index);
    return it != memo_.end() && Push(it->second);
  }
  bool Put(uint64_t index) {
    if (stack_.empty()) return false;
    memo_[index] = stack_.back();
    return true;
  }

  bool Step(unsigned char op) {
    switch (op) {
      case 0x80:
        return Little(1).has_value();
      case 0x95:
        return Little(8).has_value();
      case '(':
        return Push(New(Kind::kMark));
      case 'N':
        return Push(New(Kind::kNone));
      case 0x88:
        return PushInt(1, Kind::kBool);
      case 0x89:
        return PushInt(0, Kind::kBool);
      case 'K':
      case 'M':
      case 'J': {
        const auto value = Little(op == 'K' ? 1 : op == 'M' ? 2 : 4);
        return value &&
               PushInt(op == 'J' ? static_cast<int32_t>(*value) : static_cast<int64_t>(*value));
      }
      case 0x8a: {
        const auto count = Little(1);
        if (!count || *count > 8) return false;
        const auto value = Little(*count);
        if (!value) return false;
        const bool negative = *count > 0 && *count < 8 && ((*value >> (8 * *count - 1)) & 1) != 0;
        return PushInt(
            static_cast<int64_t>(negative ? *value | (~uint64_t{0} << (8 * *count)) : *value));
      }
      case 'G': {
        if (!Little(8)) return false;
        return Push(New(Kind::kReal));
      }
      case 'X':
      case 'B':
        return Text(4);
      case 0x8c:
      case 'C':
      case 'U':
        return Text(1);
      case 0x8d:
      case 0x8e:
        return Text(8);
      case ']':
        return Push(New(Kind::kList));
      case '}':
        return Push(New(Kind::kDict));
      case ')':
        return Tuple(0);
      case 0x85:
        return Tuple(1);
      case 0x86:
        return Tuple(2);
      case 0x87:
        return Tuple(3);
      case 't':
      case 'l': {
        auto above = ToMark();
        if (!above) return false;
        PyRef value = New(Kind::kList);
        value->items = std::move(*above);
        return Push(std::move(value));
      }
      case 'a': {
        if (stack_.size() < 2) return false;
        PyRef item = stack_.back();
        stack_.pop_back();
        stack_.back()->items.push_back(std::move(item));
        return true;
      }
      case 'e': {
        const auto above = ToMark();
        if (!above || stack_.empty()) return false;
        stack_.back()->items.insert(stack_.back()->items.end(), above->begin(), above->end());
        return true;
      }
      case 's': {
        if (stack_.size() < 3) return false;
        const std::vector<PyRef> pair(stack_.end() - 2, stack_.end());
        stack_.resize(stack_.size() - 2);
        return SetItems(pair);
      }
      case 'u': {
        const auto above = ToMark();
        return above && SetItems(*above);
      }
      case 'q':
      case 'r': {
        const auto index = Little(op == 'q' ? 1 : 4);
        return index && Put(*index);
      }
      case 0x94:
        return Put(memo_.size());
      case 'h':
      case 'j': {
        const auto index = Little(op == 'h' ? 1 : 4);
        return index && Get(*index);
      }
      case '0':
        if (stack_.empty()) return false;
        stack_.pop_back();
        return true;
      default:
        return false;
    }
  }

  std::string_view bytes_;
  size_t at_ = 0;
  std::vector<PyRef> stack_;
  std::map<uint64_t, PyRef> memo_;
};

}  // namespace

bool ReadPickleDump(const Section& s, FactStore& facts, HangTable& hang) {
  const auto root = Unpickler(s.text).Run();
  if (!root || (*root)->what != PyValue::Kind::kDict) {
    AddDamage(s, facts, "a pickle that is cut, or that holds more than a flight recorder's dump");
    return true;
  }
  const PyValue* entries = (*root)->Find("entries");
  if (entries == nullptr) {
    AddDamage(s, facts, "a pickle that is no flight recorder's dump");
    return true;
  }
  RankDump dump;
  dump.at = s.At(0);
  dump.at.line = 0;
  if (const PyValue* rank = (*root)->Find("rank")) dump.rank = static_cast<int>(rank->number);
  for (const PyRef& item : entries->items) {
    if (item->what != PyValue::Kind::kDict || item->IntOf("is_p2p") != 0) continue;
    Recorded r;
    r.sequence = item->IntOf("collective_seq_id");
    if (const PyValue* group = item->Find("process_group");
        group != nullptr && !group->items.empty())
      r.group = group->items[0]->text;
    r.op = item->TextOf("profiling_name");
    r.state = item->TextOf("state");
    r.created_ns = item->IntOf("time_created_ns");
    r.completed_ns = item->IntOf("time_discovered_completed_ns");
    if (const PyValue* sizes = item->Find("input_sizes"))
      for (const PyRef& dims : sizes->items) {
        r.sizes += "[";
        for (const PyRef& n : dims->items) r.sizes += fmt::format("{},", n->number);
        r.sizes += "]";
      }
    dump.entries.push_back(std::move(r));
  }
  hang.AddDump(std::move(dump));
  return true;
}

}  // namespace muster::diagnose
