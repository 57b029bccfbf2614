// What a reader holds between two lines. Private to reader.cc and reader_hits.cc.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "diagnose/document_lines.h"
#include "diagnose/folded_text.h"
#include "diagnose/hang.h"
#include "diagnose/node_devices.h"
#include "diagnose/object.h"
#include "diagnose/pace.h"
#include "diagnose/plan.h"
#include "diagnose/reader.h"
#include "diagnose/second_opinion.h"
#include "diagnose/section.h"
#include "diagnose/traceback.h"

namespace muster::diagnose {

struct Reader::State {
  explicit State(const Knowledge& k) : knowledge(k), plan(*k.plan) {}

  void Line(std::string_view line);
  void WholeLine(std::string_view line);
  void CloseFolded();
  bool JsonLine(std::string_view line);
  void OtherLine(std::string_view line);
  void Hits(std::string_view line);
  bool Document(std::string_view line);
  void Marked(const Marker& marker, std::string_view line);
  void Inside(const InsideKey& key);
  bool Match(const SignLine& sign, std::string_view line);
  Fact Complaint(std::string_view line) const;
  void Hook(Fact& fact, std::string_view line);
  void OpenSection(const SectionKind& found, std::string_view line);
  void CloseSection(bool cut);
  void CloseParted();
  // A tool's output behind a job runner's prefix, one per rank or host; see reader_ranks.cc.
  struct Behind {
    const SectionKind* kind = nullptr;
    Section section;
    bool parted = false;  // by other lines of the label, before it was whole: it may go on
  };
  bool BelongsBehind(std::string_view line);
  bool BeginsBehind(const SectionKind& found, std::string_view line);
  void CloseBehind(const std::string& label, bool cut);
  void CloseAllBehind(bool cut);
  bool InSection(std::string_view name) const {
    return (kind != nullptr && kind->name == name) || (behind != nullptr && behind->name == name);
  }
  bool InSection() const { return kind != nullptr || behind != nullptr; }
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
  Sample sample;
  bool sampled = false;  // this line is in it already

  std::string file, heading_host;
  ObjectAbove above;
  size_t number = 0;
  bool known_here = false, has_escape = false;
  bool closed_document = false;  // the last line ended one
  bool understood = false;       // a rule or a reader knows this line
  bool noise = false;            // a line of this file is no UTF-8 text
  size_t noise_line = 0;
  std::string carry;
  std::string tail;  // the last bytes before the carry, for judging a last line without its end
  std::string plain, folded;  // reused
  FoldedText message;         // the lines of it so far
  std::string previous;       // the line before, where it is short enough for a row of a table
  std::vector<uint32_t> hits;
  std::vector<const SignLine*> unread;

  const SectionKind* kind = nullptr;
  Section section;
  // What lines of others parted before it was whole: it may go on.
  const SectionKind* parted_kind = nullptr;
  Section parted;

  std::map<std::string, Behind> ranks;  // by label
  std::string last_label;               // of the last line that belonged to one
  const SectionKind* behind = nullptr;  // the one that this line belongs to

  DocumentLines document;
  Tracebacks tracebacks;
  Paces paces;
  NodeDevices devices;
};

}  // namespace muster::diagnose
