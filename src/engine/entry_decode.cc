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

// ---- the keys of a record: which field of an Entry each of them fills, and how

using TakeKey = Status (*)(std::string_view key, Element value, Entry& entry);

template <auto Member>
Status Text(std::string_view key, Element value, Entry& entry) {
  return Take<std::string_view>(key, value, entry.*Member);
}
template <auto Member>
Status Flag(std::string_view key, Element value, Entry& entry) {
  return Take<bool>(key, value, entry.*Member);
}
template <auto Member>
Status Int(std::string_view key, Element value, Entry& entry) {
  return TakeInt(key, value, entry.*Member);
}
template <auto Member>
Status Time(std::string_view key, Element value, Entry& entry) {
  return TakeTime(key, value, entry.*Member);
}
template <auto Member, const auto& kWords>
Status Word(std::string_view key, Element value, Entry& entry) {
  return TakeWord(key, value, kWords, entry.*Member);
}
template <auto Member, auto Parse>
Status Parsed(std::string_view key, Element value, Entry& entry) {
  return TakeParsed(key, value, Parse, entry.*Member);
}

struct Field {
  std::string_view key;
  TakeKey take;
};
constexpr Field kFields[] = {
    {"at", Time<&Entry::at>},
    {"target", Int<&Entry::target>},
    {"step", Text<&Entry::step>},
    {"cursor", Int<&Entry::cursor>},
    {"attempt", Int<&Entry::attempt>},
    {"destructive", Flag<&Entry::destructive>},
    {"effect", Flag<&Entry::effect>},
    {"proof", Flag<&Entry::proof>},
    {"outcome", Word<&Entry::outcome, kOutcomes>},
    {"level", Parsed<&Entry::level, &ParseLevel>},
    {"end", Word<&Entry::end, kEnds>},
    {"way", Word<&Entry::way, kWays>},
    {"rung", Parsed<&Entry::rung, &ParseRung>},
    {"act", Parsed<&Entry::act, &ParseActKind>},
    {"token", Text<&Entry::token>},
    {"by", Text<&Entry::by>},
    {"detail", Text<&Entry::detail>},
    {"evidence", Text<&Entry::evidence>},
    {"planHash", Text<&Entry::plan_hash>},
    {"fence", [](std::string_view key, Element value,
                 Entry& entry) { return Take<uint64_t>(key, value, entry.fence); }},
    {"before", [](std::string_view key, Element value,
                  Entry& entry) { return TakeTexts(key, value, entry.before); }},
    {"lease",
     [](std::string_view, Element value, Entry& entry) { return TakeLease(value, entry.lease); }},
    {"until", Time<&Entry::until>},
};

// A key that is not there is a newer Muster's.
Status TakeField(std::string_view key, Element value, Entry& entry) {
  for (const Field& field : kFields) {
    if (field.key == key) return field.take(key, value, entry);
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
