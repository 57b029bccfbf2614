#include "diagnose/reader.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/decode.h"
#include "diagnose/document_lines.h"
#include "diagnose/json_line.h"
#include "diagnose/kernel_lines.h"
#include "diagnose/last_line.h"
#include "diagnose/line_damage.h"
#include "diagnose/plan.h"
#include "diagnose/section.h"
#include "diagnose/speaker.h"
#include "diagnose/traceback.h"
#include "probes/train_log/train_log.h"

namespace muster::diagnose {

namespace {

constexpr size_t kLongestLine = 4u << 20;  // a longer one is read in pieces
constexpr size_t kTailBytes = 8192;
constexpr std::string_view kHealthy = "ok.";  // signs that say that something went well
constexpr std::string_view kAnyComplaint = "unread.error", kAnyException = "unread.exception",
                           kAnyOfNccl = "unread.nccl";
constexpr std::string_view kUnread = "unread.";  // matched only where nothing else does
constexpr std::string_view kBare = "bare.";      // matched only outside of tools' outputs

int RankOf(const Fact& fact) {
  const auto rank = ParseInt(fact.Get("rank"));
  return rank.ok() ? static_cast<int>(*rank) : -1;
}

// "0" of "[PG ID 0 PG GUID 0(default_pg) Rank 3]".
std::string GroupIn(std::string_view line) {
  for (const std::string_view mark : {"[PG ID ", "[PG ", "PG GUID "}) {
    const size_t at = line.find(mark);
    if (at == std::string_view::npos) continue;
    const std::string_view rest = line.substr(at + mark.size());
    return std::string(rest.substr(0, rest.find_first_of(" ](")));
  }
  return "";
}

// "H100", "HBM3", "SXM5", "v1.30": products and versions have letters and digits too.
bool NamesNoHost(std::string_view word) {
  static constexpr std::string_view kProducts[] = {
      "hbm", "sxm", "nvidia", "tesla", "cuda", "nccl", "ubuntu", "mi2", "mi3", "pcie", "ddr"};
  const std::string lower = ToLower(word);
  if (std::any_of(std::begin(kProducts), std::end(kProducts),
                  [&](std::string_view p) { return lower.starts_with(p); }))
    return true;
  const size_t digit = lower.find_first_of("0123456789");
  const size_t letters = std::min(digit, lower.size());
  // "h100", "a100", "gb200", "rtx4090", "v1.30"
  static constexpr std::string_view kModels[] = {"h", "a", "b", "gb", "gh", "l", "v", "t", "rtx"};
  return std::find(std::begin(kModels), std::end(kModels), lower.substr(0, letters)) !=
         std::end(kModels);
}

// The host that a heading or a prompt names: "== node001 ==", "root@node001:~# ", "--- node-7 ---".
std::string HeadingHost(std::string_view line) {
  if (const size_t at = line.find('@'); at != std::string_view::npos && at < 24 &&
                                        line.find_first_of("#$") != std::string_view::npos) {
    const std::string_view rest = line.substr(at + 1);
    const std::string_view host = rest.substr(0, rest.find_first_of(":~ ]#$"));
    return host == "localhost" ? "" : std::string(host);
  }
  if (line.size() > 80 || line.size() < 4) return "";
  const char c = line[0];
  if ((c != '=' && c != '-' && c != '#') || line[1] != c) return "";
  std::string found;
  size_t words = 0;
  for (const std::string_view word : SplitBlank(line)) {
    if (word.find_first_not_of("=-#") == std::string_view::npos) continue;
    if (++words > 3 || NamesNoHost(word)) return "";  // a title, not a name
    const bool digit =
        std::any_of(word.begin(), word.end(), [](char d) { return d >= '0' && d <= '9'; });
    const bool name = std::all_of(word.begin(), word.end(), [](char d) {
      return std::isalnum(static_cast<unsigned char>(d)) || d == '-' || d == '.' || d == '_';
    });
    if (digit && name && std::isalpha(static_cast<unsigned char>(word[0]))) found = word;
  }
  return found;
}

}  // namespace

struct Reader::State {
  explicit State(const Knowledge& k) : knowledge(k), plan(*k.plan) {}

  void Line(std::string_view line);
  void Hits(std::string_view line);
  bool Document(std::string_view line);
  void Marked(const Marker& marker, std::string_view line);
  void Inside(const InsideKey& key);
  bool Match(const SignLine& sign, std::string_view line);
  void Hook(Fact& fact, std::string_view line);
  void CloseSection(bool cut);
  void CloseDocument(bool cut);
  void Know(std::string_view what, size_t count = 1, bool proves = true) {
    evidence.recognised[std::string(what)] += count;
    evidence.proven = evidence.proven || proves;
    known_here = true;
  }

  const Knowledge& knowledge;
  const ReaderPlan& plan;
  Evidence evidence;
  HangTable hang;

  std::string file, heading_host;
  size_t number = 0;
  bool known_here = false, has_escape = false;
  bool closed_document = false;  // the last line ended one
  bool noise = false;            // a line of this file is no UTF-8 text
  size_t noise_line = 0;
  std::string carry;
  std::string tail;  // the last bytes before the carry, for judging a last line without its end
  std::string plain, folded;  // reused
  std::string previous;       // the line before, where it is short enough for a row of a table
  std::vector<uint32_t> hits;
  std::vector<const SignLine*> unread;

  const SectionKind* kind = nullptr;
  Section section;

  DocumentLines document;
  Tracebacks tracebacks;
};

Reader::Reader(const Knowledge& knowledge) : s_(std::make_unique<State>(knowledge)) {}
Reader::~Reader() = default;
size_t Reader::Signs() const { return s_->evidence.facts.size(); }

void Reader::Begin(std::string file) {
  State& s = *s_;
  s.file = std::move(file);
  s.heading_host.clear();
  s.previous.clear();
  s.number = 0;
  s.known_here = false;
  s.carry.clear();
  s.tail.clear();
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
    const void* end = std::memchr(bytes.data() + at, '\n', bytes.size() - at);
    if (end == nullptr) {
      s.carry.assign(bytes.substr(at));
      s.tail.assign(bytes.substr(at - std::min(at, kTailBytes), std::min(at, kTailBytes)));
      return;
    }
    const size_t stop = static_cast<size_t>(static_cast<const char*>(end) - bytes.data());
    s.Line(bytes.substr(at, stop - at));
    at = stop + 1;
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
  s.CloseSection(cut);
  const bool open = s.document.open();
  s.CloseDocument(true);
  s.tracebacks.End(s.evidence.facts);
  // A last line without its end may have lost what it was about to say. A closed document is whole.
  if (((cut && !s.closed_document) || open) && s.known_here)
    s.evidence.facts.Add({"damage",
                          {{"what", "the last line has no end"}},
                          {s.file, s.number},
                          "the last line has no end: the text may be cut there",
                          {},
                          0,
                          1});
  if (s.noise && s.known_here)
    s.evidence.facts.Add({"damage",
                          {{"what", "bytes that are no UTF-8 text: another encoding, or damage"}},
                          {s.file, s.noise_line},
                          "",
                          {},
                          0,
                          1});
  if (!s.known_here) s.evidence.unrecognised.push_back(s.file);
  s.evidence.lines += s.number;
}

void Reader::State::Line(std::string_view line) {
  ++number;
  if (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  if (line.starts_with("> ")) line.remove_prefix(2);  // quoted in a message
  if (line.starts_with("```")) line = {};             // a fence around what was pasted
  if (has_escape && std::memchr(line.data(), '\x1b', line.size()) != nullptr) {
    plain = train_log::StripAnsi(line);
    line = plain;
  }
  if (line.starts_with("{\"") && !document.open()) {
    if (std::string said; UnwrapJsonLine(line, said)) {
      Know("log in JSON lines", 1, false);
      for (const std::string_view piece : Split(said, '\n')) {
        --number;  // all of one line
        Line(piece);
      }
      return;
    }
  }
  if (evidence.job.Take(line, file, number)) {
    if (!known_here || (number & 0xfff) == 0) Know("NCCL log");
    return;
  }
  if (line.empty()) {
    previous.clear();
    if (kind != nullptr && section.text.size() < Section::kMostBytes && kind->belongs(line))
      section.text += '\n';
    else if (kind != nullptr)
      CloseSection(false);
    return;
  }
  closed_document = false;
  if (!noise && !IsText(line)) {
    noise = true;
    noise_line = number;
  }
  if (LostItsKey(line))
    AddDamage({file, number, "", heading_host, false}, evidence.facts, "a value without its key");
  if (Document(line)) {
    Hits(line);
    return;
  }
  if (kind == nullptr && PieceOfJson(line))
    AddDamage({file, number, "", heading_host, false}, evidence.facts,
              "a piece of JSON outside of a document");
  if (kind != nullptr) {
    if (!kind->belongs(line)) {
      CloseSection(false);
    } else if (section.text.size() + line.size() < Section::kMostBytes) {
      section.text += line;
      section.text += '\n';
    } else {
      AddDamage(section, evidence.facts, "longer than is read");
      CloseSection(true);
    }
  }
  Hits(line);
  previous = line.size() < 400 && kind == nullptr ? line : std::string_view();
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
  was->read(section, evidence.facts);
  section = {};
}

void Reader::State::Hits(std::string_view line) {
  hits.clear();
  plan.scanner->Scan(line, hits);
  if (line[0] == '=' || line[0] == '-' || line[0] == '#' || line.find('@') < 24) {
    if (std::string host = HeadingHost(line); !host.empty()) heading_host = std::move(host);
  }
  if (tracebacks.open() && tracebacks.Line(line, {file, number}, evidence.facts)) return;
  if (hits.empty()) return;
  bool folded_ready = false, kernel_done = false, known = false;
  unread.clear();
  // Sections first: a heading names what follows.
  for (const uint32_t hit : hits) {
    const AnchorUse& use = plan.uses[hit];
    if (use.owner != Owner::kSection || document.open()) continue;
    const SectionKind* found = plan.kinds[use.index];
    if (kind != nullptr && kind->name == found->name && kind->belongs(line)) continue;
    if (kind != nullptr && kind->name == std::string_view("nccl-tests")) continue;
    if (!found->begins(line)) continue;
    CloseSection(false);
    if (found->table && SameShape(line, previous))
      AddDamage({file, number - 1, "", heading_host, false}, evidence.facts,
                "a row stands before the heading of its table");
    kind = found;
    section = {file, number, std::string(line) + "\n", heading_host, false};
    Know(found->name);
    break;
  }
  for (const uint32_t hit : hits) {
    const AnchorUse& use = plan.uses[hit];
    switch (use.owner) {
      case Owner::kPattern:
        if (!folded_ready) FoldInto(line, folded);
        folded_ready = true;
        if (kind != nullptr && knowledge.lines[use.index].id.starts_with(kBare)) break;
        if (knowledge.lines[use.index].id.starts_with(kUnread)) {
          unread.push_back(&knowledge.lines[use.index]);
        } else if (Match(knowledge.lines[use.index], line)) {
          known = true;
        }
        break;
      case Owner::kMarker:
        Marked(MarkerAt(use.index), line);
        break;
      case Owner::kInside:
        Inside(InsideAt(use.index));
        break;
      case Owner::kKernel:
        if (kernel_done) break;
        kernel_done = true;
        if (ReadKernelLine(line, file, number, evidence.facts) ||
            ReadLinkLine(line, file, number, evidence.facts)) {
          Know("kernel log");
          known = true;
        } else if (Contains(line, "NVRM: Xid") || Contains(line, "SXid")) {
          AddDamage({file, number, "", heading_host, false}, evidence.facts,
                    "an Xid that cannot be read");
        }
        break;
      case Owner::kFrame:
        tracebacks.Frame(line, {file, number});
        break;
      case Owner::kCaught:
        tracebacks.Caught();
        break;
      case Owner::kSection:
        break;
    }
  }
  if (known || kind != nullptr) return;
  // Who complains says more than that something was raised, and that more than that it complains.
  const auto rank = [](const SignLine* sign) {
    if (sign->id == kAnyComplaint) return 2;
    return sign->id == kAnyException || sign->id == kAnyOfNccl ? 1 : 0;
  };
  std::stable_sort(unread.begin(), unread.end(),
                   [&](const SignLine* a, const SignLine* b) { return rank(a) < rank(b); });
  for (const SignLine* sign : unread)
    if (Match(*sign, line)) return;
}

void Reader::State::Marked(const Marker& marker, std::string_view line) {
  if (!Says(marker, line)) return;
  Know(marker.name, 1, marker.proves);
}

void Reader::State::Inside(const InsideKey& key) {
  if (document.open() || (kind != nullptr && kind->name == key.section)) return;
  AddDamage({file, number, "", heading_host, false}, evidence.facts,
            fmt::format("a line of {} without its heading", key.section));
}

bool Reader::State::Match(const SignLine& sign, std::string_view line) {
  Fact fact;
  if (!sign.pattern.Match(line, folded, fact.attrs)) return false;
  for (const std::string& without : sign.without)
    if (folded.find(without) != std::string::npos) return false;
  known_here = true;
  evidence.proven = evidence.proven || sign.id.starts_with(kHealthy);
  ++evidence.recognised["lines that mean something"];
  fact.id = sign.id;
  fact.at = {file, number};
  // Of a very long line, the part around what was found.
  std::string_view shown = line;
  if (line.size() > kTextBytes) {
    const size_t at = folded.find(sign.pattern.anchor());
    if (at != std::string::npos && at > kTextBytes / 2) shown = line.substr(at - kTextBytes / 3);
  }
  fact.text = Shorten(Printable(Trim(shown.substr(0, 4 * kTextBytes))), kTextBytes);
  Attach(ReadSpeaker(line), fact);
  if (fact.Get("host").empty()) fact.Set("host", heading_host);
  Hook(fact, line);
  evidence.facts.Add(std::move(fact));
  return true;
}

// Signs that feed more than the list of facts.
void Reader::State::Hook(Fact& fact, std::string_view line) {
  if (fact.id == "xid") ClassifyXid(fact);
  if (fact.id == "torch.timeout")
    hang.AddTimeout(RankOf(fact), GroupIn(line), ParseInt(fact.Get("sequence")).value_or(-1),
                    fact.Get("op"), fact.Get("numel"), fact);
  if (fact.id == "torch.progress")
    hang.AddProgress(RankOf(fact), GroupIn(line), ParseInt(fact.Get("enqueued")).value_or(-1),
                     ParseInt(fact.Get("completed")).value_or(-1), fact);
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
  return evidence;
}

Evidence Reader::Take() {
  Evidence evidence = Snapshot();
  const Knowledge& knowledge = s_->knowledge;
  s_ = std::make_unique<State>(knowledge);
  return evidence;
}

}  // namespace muster::diagnose
