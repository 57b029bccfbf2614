// Reading a record back. simdjson and one pass over the keys: a history of a million records is
// opened in the time that a person waits.
#include <fmt/format.h>
#include <simdjson.h>

#include "base/strings.h"
#include "engine/entry.h"
#include "engine/entry_words.h"

namespace muster::engine {

namespace {

using Element = simdjson::dom::element;
using Object = simdjson::dom::object;

tl::unexpected<Error> NotARecord(std::string_view key, std::string_view what) {
  return Fail(Code::kCorrupt,
              fmt::format("not a record: {}: {}", Printable(key), Printable(Shorten(what, 200))));
}

// The value as T, or the record is corrupt; `into` is left as it was then.
template <typename T, typename Stored>
Status Take(std::string_view key, Element value, Stored& into) {
  T taken;
  if (const auto failed = value.get(taken); failed != simdjson::SUCCESS)
    return NotARecord(key, simdjson::error_message(failed));
  into = static_cast<Stored>(taken);
  return {};
}

Status TakeInt(std::string_view key, Element value, int& into) {
  int64_t taken = 0;
  TRY_VOID(Take<int64_t>(key, value, taken));
  if (taken < std::numeric_limits<int>::min() || taken > std::numeric_limits<int>::max())
    return NotARecord(key, "out of range");
  into = static_cast<int>(taken);
  return {};
}

Status TakeTime(std::string_view key, Element value, TimePoint& into) {
  std::string_view text;
  TRY_VOID(Take<std::string_view>(key, value, text));
  const auto time = ParseTime(text);
  if (!time.ok()) return NotARecord(key, time.error().message);
  into = *time;
  return {};
}

template <typename E, size_t N>
Status TakeWord(std::string_view key, Element value, const std::array<std::string_view, N>& words,
                E& into) {
  std::string_view text;
  TRY_VOID(Take<std::string_view>(key, value, text));
  for (size_t i = 0; i < words.size(); ++i) {
    if (words[i] != text) continue;
    into = static_cast<E>(i);
    return {};
  }
  return NotARecord(key, fmt::format("unknown word \"{}\"", text));
}

template <typename E>
Status TakeParsed(std::string_view key, Element value, Result<E> (*parse)(std::string_view),
                  E& into) {
  std::string_view text;
  TRY_VOID(Take<std::string_view>(key, value, text));
  auto parsed = parse(text);
  if (!parsed.ok()) return NotARecord(key, parsed.error().message);
  into = *parsed;
  return {};
}

Status TakeTexts(std::string_view key, Element value, Fingerprint& into) {
  Object object;
  TRY_VOID(Take<Object>(key, value, object));
  for (const auto& [name, text] : object)
    TRY_VOID(Take<std::string_view>(key, text, into[std::string(name)]));
  return {};
}

Status TakeLeaseField(std::string_view key, Element value, Lease& into, size_t& known) {
  ++known;
  if (key == "owner") return Take<std::string_view>(key, value, into.owner);
  if (key == "run") return Take<std::string_view>(key, value, into.run);
  if (key == "reason") return Take<std::string_view>(key, value, into.reason);
  if (key == "priorSchedulable") return Take<bool>(key, value, into.prior_schedulable);
  if (key == "priorNote") return Take<std::string_view>(key, value, into.prior_note);
  if (key == "since") return TakeTime(key, value, into.since);
  if (key == "until") return TakeTime(key, value, into.until);
  if (key == "fence") return Take<uint64_t>(key, value, into.fence);
  --known;
  return {};
}

// All its keys are always there: a lease without one of them is none.
Status TakeLease(Element value, Lease& into) {
  Object object;
  TRY_VOID(Take<Object>("lease", value, object));
  size_t known = 0;
  for (const auto& [key, of] : object) TRY_VOID(TakeLeaseField(key, of, into, known));
  if (known != 8) return NotARecord("lease", "expected its eight keys");
  return {};
}

enum class Key {
  kAt,
  kTarget,
  kStep,
  kCursor,
  kAttempt,
  kDestructive,
  kEffect,
  kProof,
  kOutcome,
  kLevel,
  kEnd,
  kWay,
  kRung,
  kAct,
  kToken,
  kBy,
  kDetail,
  kEvidence,
  kPlanHash,
  kFence,
  kBefore,
  kLease,
  kUntil,
  kOther,
};
constexpr std::array<std::string_view, 23> kKeys = {
    "at",      "target",   "step",     "cursor", "attempt", "destructive", "effect", "proof",
    "outcome", "level",    "end",      "way",    "rung",    "act",         "token",  "by",
    "detail",  "evidence", "planHash", "fence",  "before",  "lease",       "until"};

Key KeyOf(std::string_view key) {
  for (size_t i = 0; i < kKeys.size(); ++i) {
    if (kKeys[i] == key) return static_cast<Key>(i);
  }
  return Key::kOther;
}

Status TakeField(std::string_view key, Element value, Entry& entry) {
  switch (KeyOf(key)) {
    case Key::kAt:
      return TakeTime(key, value, entry.at);
    case Key::kTarget:
      return TakeInt(key, value, entry.target);
    case Key::kStep:
      return Take<std::string_view>(key, value, entry.step);
    case Key::kCursor:
      return TakeInt(key, value, entry.cursor);
    case Key::kAttempt:
      return TakeInt(key, value, entry.attempt);
    case Key::kDestructive:
      return Take<bool>(key, value, entry.destructive);
    case Key::kEffect:
      return Take<bool>(key, value, entry.effect);
    case Key::kProof:
      return Take<bool>(key, value, entry.proof);
    case Key::kOutcome:
      return TakeWord(key, value, kOutcomes, entry.outcome);
    case Key::kLevel:
      return TakeParsed<Level>(key, value, &ParseLevel, entry.level);
    case Key::kEnd:
      return TakeWord(key, value, kEnds, entry.end);
    case Key::kWay:
      return TakeWord(key, value, kWays, entry.way);
    case Key::kRung:
      return TakeParsed<Rung>(key, value, &ParseRung, entry.rung);
    case Key::kAct:
      return TakeParsed<ActKind>(key, value, &ParseActKind, entry.act);
    case Key::kToken:
      return Take<std::string_view>(key, value, entry.token);
    case Key::kBy:
      return Take<std::string_view>(key, value, entry.by);
    case Key::kDetail:
      return Take<std::string_view>(key, value, entry.detail);
    case Key::kEvidence:
      return Take<std::string_view>(key, value, entry.evidence);
    case Key::kPlanHash:
      return Take<std::string_view>(key, value, entry.plan_hash);
    case Key::kFence:
      return Take<uint64_t>(key, value, entry.fence);
    case Key::kBefore:
      return TakeTexts(key, value, entry.before);
    case Key::kLease:
      return TakeLease(value, entry.lease);
    case Key::kUntil:
      return TakeTime(key, value, entry.until);
    case Key::kOther:
      break;  // a newer Muster's
  }
  return {};
}

}  // namespace

Result<Entry> DecodeEntry(uint32_t type, std::string_view payload) {
  if (type == 0 || type >= kTypes.size())
    return Fail(Code::kCorrupt, fmt::format("unknown type of record {}", type));
  // Its buffers grow to the longest record and stay.
  thread_local simdjson::dom::parser parser;
  Object object;
  if (const auto failed = parser.parse(payload.data(), payload.size()).get(object);
      failed != simdjson::SUCCESS)
    return NotARecord("the whole of it", simdjson::error_message(failed));
  Entry entry;
  entry.type = static_cast<EntryType>(type);
  bool dated = false;
  for (const auto& [key, value] : object) {
    TRY_VOID(TakeField(key, value, entry));
    dated = dated || key == "at";
  }
  if (!dated) return NotARecord("at", "expected a time");
  return entry;
}

}  // namespace muster::engine
