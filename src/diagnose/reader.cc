#include "diagnose/reader.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "base/strings.h"
#include "diagnose/decode.h"
#include "diagnose/json_line.h"
#include "diagnose/kernel_lines.h"
#include "diagnose/last_line.h"
#include "diagnose/line_damage.h"
#include "diagnose/reader_state.h"
#include "probes/train_log/train_log.h"

namespace muster::diagnose {

namespace {

constexpr size_t kLongestLine = 4u << 20;  // a longer one is read in pieces
constexpr size_t kTailBytes = 8192;

// A line as it was before somebody quoted it in a message; a fence around what was pasted is none.
std::string_view Unquoted(std::string_view line) {
  if (line.starts_with("> ")) line.remove_prefix(2);
  return line.starts_with("```") ? std::string_view() : line;
}

}  // namespace

Reader::Reader(const Knowledge& knowledge) : s_(std::make_unique<State>(knowledge)) {}
Reader::~Reader() = default;
size_t Reader::Signs() const { return s_->evidence.facts.size(); }

void Reader::Begin(std::string file) {
  State& s = *s_;
  s.file = std::move(file);
  s.heading_host.clear();
  s.above.Reset();
  s.previous.clear();
  s.number = 0;
  s.known_here = false;
  s.carry.clear();
  s.tail.clear();
  s.evidence.beside.Begin();
  s.noise = false;
  ++s.evidence.files;
}

void Reader::Feed(std::string_view bytes) {
  State& s = *s_;
  s.evidence.bytes += bytes.size();
  if (s.number == 0 && s.carry.empty() && !s.document.open() && bytes.size() > 2 &&
      bytes[0] == '\x80' && bytes[1] >= 2 && bytes[1] <= 5)
    s.document.BeginPickle(s.file);
  if (s.document.kind() == DocumentLines::Kind::kPickle) {
    s.document.AddBytes(bytes);
    return;
  }
  s.has_escape = std::memchr(bytes.data(), '\x1b', bytes.size()) != nullptr ||
                 s.carry.find('\x1b') != std::string::npos;
  size_t at = 0;
  if (!s.carry.empty()) {
    const void* end = std::memchr(bytes.data(), '\n', bytes.size());
    if (end == nullptr) {
      s.carry += bytes;
      if (s.carry.size() > kLongestLine) {
        s.Line(s.carry);
        s.carry.clear();
      }
      return;
    }
    at = static_cast<size_t>(static_cast<const char*>(end) - bytes.data());
    s.carry += bytes.substr(0, at);
    ++at;
    const std::string whole = std::move(s.carry);
    s.carry.clear();
    s.Line(whole);
  }
  while (at < bytes.size()) {
    const char* const begin = bytes.data() + at;
    const void* end = std::memchr(begin, '\n', bytes.size() - at);
    if (end == nullptr) {
      s.carry.assign(bytes.substr(at));
      s.tail.assign(bytes.substr(at - std::min(at, kTailBytes), std::min(at, kTailBytes)));
      return;
    }
    const size_t length = static_cast<size_t>(static_cast<const char*>(end) - begin);
    s.Line({begin, length});
    at += length + 1;
  }
}

void Reader::End() {
  State& s = *s_;
  bool cut = false;
  if (!s.carry.empty()) {
    const std::string rest = std::move(s.carry);
    s.carry.clear();
    cut = !IsWholeLine(rest, s.tail);
    s.Line(rest);
  }
  s.CloseFolded();
  s.CloseSection(cut);
  s.CloseParted();
  s.CloseAllBehind(cut);
  const bool open = s.document.open();
  s.CloseDocument(true);
  s.tracebacks.End(s.evidence.facts);
  s.paces.End(s.evidence.facts);
  s.devices.End();
  // A last line without its end may have lost what it was about to say. A closed document is whole.
  if (((cut && !s.closed_document) || open) && s.known_here)
    s.evidence.facts.Add({"damage",
                          {{"what", "the last line has no end"}},
                          {s.file, s.number},
                          "the last line has no end: the text may be cut there"});
  if (s.noise && s.known_here)
    s.evidence.facts.Add({"damage",
                          {{"what", "bytes that are no UTF-8 text: another encoding, or damage"}},
                          {s.file, s.noise_line},
                          ""});
  if (!s.known_here) s.evidence.unrecognised.push_back(s.file);
  s.evidence.lines += s.number;
}

void Reader::State::Line(std::string_view line) {
  ++number;
  if (!line.empty()) {
    const char first = line.front();
    if (line.back() == '\r') line.remove_suffix(1);
    if (first == '>' || first == '`') line = Unquoted(line);
  }
  if (has_escape && std::memchr(line.data(), '\x1b', line.size()) != nullptr) {
    plain = train_log::StripAnsi(line);
    line = plain;
  }
  if (message.open()) {
    if (message.Continue(line)) return;
    CloseFolded();
  }
  if (!line.empty() && line.front() == ' ' && !InSection() && !document.open() &&
      message.Begin(line, number))
    return;
  WholeLine(line);
}

// The message that was folded, as one line of the number of its first.
void Reader::State::CloseFolded() {
  if (!message.open()) return;
  const size_t last = std::exchange(number, message.number());
  WholeLine(message.Take());
  number = last;
}

void Reader::State::WholeLine(std::string_view line) {
  if (!line.empty() && line.front() == '{' && JsonLine(line)) return;
  sampled = sample.WantsFirst();
  if (sampled) sample.Take(line, file, number);
  if (evidence.job.Take(line, file, number)) {
    if (sampled) sample.MarkRead();
    if (!known_here || (number & 0xfff) == 0) Know("NCCL log");
    return;
  }
  OtherLine(line);
}

// True when the line is a record of a log in JSON lines, and what it says was read.
bool Reader::State::JsonLine(std::string_view line) {
  std::string said;
  if (!line.starts_with("{\"") || document.open() || !UnwrapJsonLine(line, said)) return false;
  Know("log in JSON lines", 1, false);
  for (const std::string_view piece : Split(said, '\n')) {
    --number;  // all of one line
    Line(piece);
  }
  return true;
}

// A line that is not NCCL's own.
void Reader::State::OtherLine(std::string_view line) {
  if (line.empty()) {
    previous.clear();
    if (kind != nullptr && section.text.size() < Section::kMostBytes && kind->belongs(line))
      section.Add(line, number);
    else if (kind != nullptr)
      CloseSection(false);
    return;
  }
  if (!sampled) sample.Take(line, file, number);
  closed_document = false;
  behind = nullptr;
  above.Line(line);
  if (!noise && !IsText(line)) {
    noise = true;
    noise_line = number;
  }
  if (LostItsKey(line))
    AddDamage({file, number, "", heading_host, false}, evidence.facts, "a value without its key");
  if (Document(line)) {
    sample.MarkRead();
    Hits(line);
    return;
  }
  if (!ranks.empty()) BelongsBehind(line);
  if (!InSection() && PieceOfJson(line))
    AddDamage({file, number, "", heading_host, false}, evidence.facts,
              "a piece of JSON outside of a document");
  if (kind != nullptr) {
    if (!kind->belongs(line)) {
      CloseSection(false);
    } else if (section.text.size() + line.size() < Section::kMostBytes) {
      section.Add(line, number);
    } else {
      AddDamage(section, evidence.facts, "longer than is read");
      CloseSection(true);
    }
  }
  const size_t signs = evidence.facts.size();
  Hits(line);
  if (evidence.facts.size() > signs) evidence.beside.Sign({file, number});
  if (InSection()) sample.MarkRead();
  if (!understood && !InSection()) evidence.beside.Unread(line, {file, number});
  previous = line.size() < 400 && !InSection() ? line : std::string_view();
}

// True when the line belongs to a document.
bool Reader::State::Document(std::string_view line) {
  using Step = DocumentLines::Step;
  const auto take = [&] {
    return document.Take(line, file, number, heading_host, kind != nullptr);
  };
  Step step = take();
  if (step == Step::kBroken) {
    CloseDocument(true);
    step = take();
  }
  if (step == Step::kOutside) return false;
  if (document.kind() == DocumentLines::Kind::kXml) CloseSection(false);
  closed_document = step == Step::kLast;
  if (closed_document) CloseDocument(false);
  return true;
}

void Reader::State::CloseDocument(bool cut) {
  if (!document.open()) return;
  const DocumentLines::Kind was = document.kind();
  const Section whole = document.Close(cut);
  switch (was) {
    case DocumentLines::Kind::kJson:
      if (ReadJsonDocument(whole, evidence.facts, hang)) Know("JSON document");
      break;
    case DocumentLines::Kind::kXml:
      if (ReadXmlDocument(whole, evidence.facts)) Know("nvidia-smi -q -x");
      break;
    case DocumentLines::Kind::kPickle:
      if (ReadPickleDump(whole, evidence.facts, hang)) Know("flight recorder dump");
      break;
    case DocumentLines::Kind::kNone:
      break;
  }
}

void Reader::State::CloseSection(bool cut) {
  if (kind == nullptr) return;
  const SectionKind* was = kind;
  kind = nullptr;
  section.cut = cut;
  if (!cut && was->whole != nullptr && !was->whole(section.text)) {
    CloseParted();
    parted_kind = was;
    parted = std::move(section);
  } else {
    was->read(section, evidence.facts);
  }
  section = {};
}

void Reader::State::CloseParted() {
  if (parted_kind != nullptr) parted_kind->read(parted, evidence.facts);
  parted_kind = nullptr;
  parted = {};
}

void Reader::State::OpenSection(const SectionKind& found, std::string_view line) {
  CloseSection(false);
  if (parted_kind != nullptr && parted_kind->GoesOnIn(found)) {
    kind = std::exchange(parted_kind, nullptr);
    section = std::move(parted);
    parted = {};
    for (size_t at = 0, all = Lines(section.text).size(); section.numbers.size() < all; ++at)
      section.numbers.push_back(section.first_line + at);
    section.Add(line, number);
    return;
  }
  if (parted_kind != nullptr && parted_kind->name == found.name) CloseParted();
  kind = &found;
  section = {file, number, std::string(line) + "\n", heading_host, false};
}

Evidence Reader::Snapshot() const {
  Evidence evidence = s_->evidence;
  std::optional<int> world;
  if (const Communicator* comm = evidence.job.Largest()) world = comm->nranks;
  for (const Fact* f : evidence.facts.Of("torch.world_size"))
    if (const auto n = ParseInt(f->Get("value")); n.ok()) world = static_cast<int>(*n);
  AddCounterFacts(evidence.facts);
  AddLinkFacts(evidence.facts);
  evidence.job.AddFacts(evidence.facts);
  s_->hang.AddFacts(evidence.facts, world);
  const bool nothing_known = evidence.recognised.empty() && evidence.facts.size() == 0;
  AddSecondOpinion(s_->sample, s_->knowledge.printers, nothing_known, evidence.facts);
  return evidence;
}

Evidence Reader::Take() {
  Evidence evidence = Snapshot();
  const Knowledge& knowledge = s_->knowledge;
  s_ = std::make_unique<State>(knowledge);
  return evidence;
}

}  // namespace muster::diagnose
