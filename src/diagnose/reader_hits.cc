#include <algorithm>

#include <fmt/format.h>

#include "base/strings.h"
#include "diagnose/heading.h"
#include "diagnose/kernel_lines.h"
#include "diagnose/line_damage.h"
#include "diagnose/log_level.h"
#include "diagnose/object.h"
#include "diagnose/reader_state.h"
#include "diagnose/speaker.h"

namespace muster::diagnose {

namespace {

constexpr std::string_view kHealthy = "ok.";  // signs that say that something went well
constexpr std::string_view kAnyException = "unread.exception", kAnyOfNccl = "unread.nccl";
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

// Of a long line the part around what was found, and its end: programs say last why they gave up.
std::string Shown(std::string_view line, size_t found) {
  constexpr size_t kTail = kTextBytes / 3;
  if (line.size() > kTextBytes && found != std::string::npos && found > kTextBytes / 2)
    line.remove_prefix(found - kTextBytes / 3);
  line = Trim(line);
  if (line.size() <= kTextBytes) return Shorten(Printable(line), kTextBytes);
  size_t tail = line.size() - kTail;
  while ((static_cast<unsigned char>(line[tail]) & 0xC0) == 0x80 && tail + 1 < line.size()) ++tail;
  return Shorten(Printable(line.substr(0, 3 * kTail)), 2 * kTail) +
         Shorten(Printable(line.substr(tail)), kTail);
}

}  // namespace

void Reader::State::Hits(std::string_view line) {
  hits.clear();
  understood = tracebacks.open();
  plan.scanner->Scan(line, hits);
  if (line[0] == '=' || line[0] == '-' || line[0] == '#' || line.find('@') < 24) {
    if (std::string host = HeadingHost(line); !host.empty()) heading_host = std::move(host);
  }
  if (tracebacks.open() && tracebacks.Line(line, {file, number}, evidence.facts)) return;
  if (hits.empty()) return;
  bool folded_ready = false, kernel_done = false, devices_done = false, known = false,
       says_error = false;
  const auto fold = [&] {
    if (!folded_ready) FoldInto(line, folded);
    folded_ready = true;
  };
  unread.clear();
  // Sections first: a heading names what follows.
  for (const uint32_t hit : hits) {
    const AnchorUse& use = plan.uses[hit];
    if (use.owner != Owner::kSection || document.open()) continue;
    const SectionKind* found = plan.kinds[use.index];
    if (kind != nullptr && kind->name == found->name && kind->belongs(line)) continue;
    if (kind != nullptr && kind->name == std::string_view("nccl-tests")) continue;
    if (!found->begins(line)) {
      if (BeginsBehind(*found, line)) break;
      continue;
    }
    if (found->table && SameShape(line, previous))
      AddDamage({file, number - 1, "", heading_host, false}, evidence.facts,
                "a row stands before the heading of its table");
    OpenSection(*found, line);
    Know(found->name, 1, found->proves);
    break;
  }
  for (const uint32_t hit : hits) {
    const AnchorUse& use = plan.uses[hit];
    switch (use.owner) {
      case Owner::kPattern:
        fold();
        if (InSection() && knowledge.lines[use.index].id.starts_with(kBare)) break;
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
      case Owner::kLevel:
        says_error = says_error || HeaderSaysError(line);
        break;
      case Owner::kFrame:
        tracebacks.Frame(line, {file, number});
        break;
      case Owner::kCaught:
        tracebacks.Caught();
        break;
      case Owner::kPace:
        fold();
        paces.Line(use.index, line, folded, {file, number});
        break;
      case Owner::kDevices:
        if (devices_done) break;
        devices_done = true;
        devices.Line(line, {file, number}, heading_host, evidence.facts);
        break;
      case Owner::kSection:
        break;
    }
  }
  const bool typed = IsPrompt(line);
  understood = known || typed;
  if (understood) sample.MarkRead();
  if (understood || InSection()) return;
  // Who complains says more than that something was raised, and that more than that it complains.
  const auto rank = [](const SignLine* sign) {
    if (sign->id == kAnyComplaint) return 2;
    return sign->id == kAnyException || sign->id == kAnyOfNccl ? 1 : 0;
  };
  std::stable_sort(unread.begin(), unread.end(),
                   [&](const SignLine* a, const SignLine* b) { return rank(a) < rank(b); });
  const bool debug = !unread.empty() && CallsItselfDebug(line);
  for (const SignLine* sign : unread)
    if (!(debug && sign->id == kAnyComplaint) && Match(*sign, line)) return;
  if (says_error) evidence.facts.Add(Complaint(line));
}

// A line whose header calls it an error, and whose words nobody knows.
Fact Reader::State::Complaint(std::string_view line) const {
  Fact fact{std::string(kAnyComplaint), {}, {file, number}, Shown(line, 0)};
  Attach(ReadSpeaker(line), fact);
  return fact;
}

void Reader::State::Marked(const Marker& marker, std::string_view line) {
  if (!Says(marker, line)) return;
  Know(marker.name, 1, marker.proves);
}

void Reader::State::Inside(const InsideKey& key) {
  if (document.open() || InSection(key.section)) return;
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
  fact.text = Shown(line, folded.find(sign.pattern.anchor()));
  fact.Set(kOwnTitle, sign.title);
  Attach(ReadSpeaker(line), fact);
  if (fact.Get("host").empty()) fact.Set("host", heading_host);
  fact.object = ObjectIn(line);
  if (!fact.object.known()) fact.object = above.now();
  if (fact.object.kind == "server") fact.object.scope = fact.Get("host");
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

}  // namespace muster::diagnose
