// What the diagnosis knows, as data (catalogue/diagnose/*.yaml): signs, the lines to look for, and
// causes, what they mean, what they explain away, and what would settle the matter. Read strictly:
// an unknown key, an unknown layer or a pattern that cannot match stops the load.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "catalogue/embedded.h"
#include "diagnose/fact.h"
#include "diagnose/pattern.h"
#include "diagnose/printer.h"

namespace muster::diagnose {

// A line worth keeping. `without` are texts (lower case) that make it something else; `title`,
// where these words say more than the cause's own title does, stands in its place.
struct SignLine {
  std::string id;
  Pattern pattern;
  std::vector<std::string> without;
  std::string title;
};

// One condition on an attribute of a fact: "code=79,48", "value>=90", "name~mlx5",
// "code!~TEL-"; a plus sign in a value stands for a blank.
struct Condition {
  enum class Op { kEqual, kNotEqual, kAtLeast, kAtMost, kGreater, kLess, kContains, kLacks };
  std::string attr;
  Op op = Op::kEqual;
  std::vector<std::string> values;
  // A missing attribute satisfies only kNotEqual and kLacks; a comparison with text that is no
  // number fails.
  bool Holds(const Fact& fact) const;
  // A comparison with a value that should be a number and is none: a decimal comma, a flipped byte.
  // Words such as "N/A" are no damage.
  bool Unparsable(const Fact& fact) const;
};

// "xid code=79 @95": a fact, what it must say, and how much it weighs (0 = the cause's weight).
struct SignRef {
  std::string fact;
  std::vector<Condition> where;
  int weight = 0;
  bool Holds(const Fact& fact) const;
};
Result<SignRef> ParseSignRef(std::string_view text);

struct AgainstRef {
  SignRef sign;
  int lowers = 0;
  std::string says;
};

enum class CauseKind {
  kRoot,         // can be where it began
  kConsequence,  // happens because of something else: any root of the same time explains it
  kQuestion,     // not enough to judge: says what to bring
};

// The layers of a cluster, outermost first; the order breaks no ties, it only groups.
std::span<const std::string_view> Layers();

struct Cause {
  std::string id, layer;
  CauseKind kind = CauseKind::kRoot;
  bool slow = false;            // "effect: slow": it makes a job slow and ends none
  int weight = 60;              // 0..100: how sure the sign alone makes us
  std::string title;            // one line, with {attributes}; parts in [[ ]] only where known
  std::string on;               // the subject; equal subjects are one finding
  std::vector<SignRef> signs;   // any of them
  std::vector<SignRef> all;     // each of them, beside a sign
  std::vector<SignRef> unless;  // none of them
  std::vector<SignRef> heals;   // any of them after the last sign: it went away, and is no finding
  std::vector<std::string> explains;  // causes that follow from it; "nccl.*" is a prefix
  std::vector<AgainstRef> against;
  std::string settle, next, runbook, source;
  std::vector<std::string> yes, no;  // texts whose first cause it is, and that never name it
};

// Why something was refused or failed, as the line itself says it: "{why}" in a title. `next` is
// what to look at for that reason, whatever the line speaks of; often empty.
struct Reason {
  std::string says, next;
  std::vector<std::string> words;  // lower case
};

// What a reader prepares from the lines once (plan.h): an automaton takes longer to make than a
// small file takes to read.
struct ReaderPlan;
std::shared_ptr<const ReaderPlan> MakeReaderPlan(const std::vector<SignLine>& lines);

struct Knowledge {
  std::vector<SignLine> lines;
  std::vector<Cause> causes;
  std::vector<Reason> reasons;
  Printers printers;
  std::shared_ptr<const ReaderPlan> plan;
  const Cause* Find(std::string_view id) const;
  // The first reason with a word in the fact's line or in what was captured of it; null without
  // one.
  const Reason* ReasonIn(const Fact& fact) const;
};

// From the embedded catalogue files (those under "diagnose/"). kInvalid names file, line, column.
Result<Knowledge> ParseKnowledge(std::span<const EmbeddedFile> files);
// The data of this binary, parsed once.
Result<const Knowledge*> LoadKnowledge();

}  // namespace muster::diagnose
