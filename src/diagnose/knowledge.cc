#include "diagnose/knowledge.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <set>
#include <unordered_set>

#include <fmt/format.h>

#include "base/strings.h"
#include "yaml/tree_text.h"
#include "yaml/yaml.h"

namespace muster {
std::span<const EmbeddedFile> EmbeddedRules();  // trees of catalogue/diagnose, by the build
}

namespace muster::diagnose {

namespace {

constexpr std::array<std::string_view, 14> kLayers = {
    "facility",  "fabric",    "nic",        "pcie", "gpu",         "driver",  "node",
    "container", "scheduler", "rendezvous", "nccl", "application", "storage", "inference"};

Result<CauseKind> ParseKind(std::string_view text) {
  if (text == "root") return CauseKind::kRoot;
  if (text == "consequence") return CauseKind::kConsequence;
  if (text == "question") return CauseKind::kQuestion;
  return Fail(Code::kInvalid, "expected root, consequence or question");
}

Result<bool> ParseSlow(std::string_view text) {
  if (text == "slow") return true;
  return Fail(Code::kInvalid, "expected slow");
}

Result<Condition> ParseCondition(std::string_view text) {
  static constexpr std::pair<std::string_view, Condition::Op> kOps[] = {
      {"!=", Condition::Op::kNotEqual}, {"!~", Condition::Op::kLacks},
      {">=", Condition::Op::kAtLeast},  {"<=", Condition::Op::kAtMost},
      {"=", Condition::Op::kEqual},     {">", Condition::Op::kGreater},
      {"<", Condition::Op::kLess},      {"~", Condition::Op::kContains}};
  size_t best = std::string_view::npos;
  std::pair<std::string_view, Condition::Op> found;
  for (const auto& op : kOps) {
    const size_t at = text.find(op.first);
    if (at < best) {
      best = at;
      found = op;
    }
  }
  if (best == std::string_view::npos || best == 0)
    return Fail(Code::kInvalid, fmt::format("\"{}\" is no condition (expected name=value)", text));
  Condition condition;
  condition.attr = text.substr(0, best);
  condition.op = found.second;
  for (const std::string_view value : Split(text.substr(best + found.first.size()), ',')) {
    std::string& kept = condition.values.emplace_back(value);
    std::replace(kept.begin(), kept.end(), '+', ' ');
  }
  return condition;
}

std::vector<SignRef> SignRefs(YamlReader& reader, std::string_view key) {
  std::vector<SignRef> refs;
  for (const YamlNode& item : reader.Items(key)) {
    auto ref = ParseSignRef(item.text);
    if (ref.ok()) {
      refs.push_back(std::move(*ref));
    } else {
      reader.SayAt(item, ref.error().message);
    }
  }
  return refs;
}

void ReadLines(YamlReader& reader, const std::string& id, const std::string& title,
               std::vector<SignLine>& lines) {
  std::vector<std::string> without;
  for (const std::string& text : reader.TextsOr("without")) without.push_back(ToLower(text));
  for (const YamlNode& item : reader.Items("match")) {
    auto pattern = Pattern::Parse(item.text);
    if (!pattern.ok()) {
      reader.SayAt(item, pattern.error().message);
      continue;
    }
    lines.push_back({id, std::move(*pattern), without, title});
  }
}

Cause ReadCause(YamlReader& reader, std::vector<SignLine>& lines) {
  Cause cause;
  cause.id = reader.Text("id");
  cause.layer = reader.Text("layer");
  if (std::find(kLayers.begin(), kLayers.end(), cause.layer) == kLayers.end())
    reader.Say(fmt::format("{}: there is no layer {}", cause.id, cause.layer));
  cause.kind = reader.Parsed<CauseKind>("kind", ParseKind, CauseKind::kRoot);
  cause.slow = reader.Parsed<bool>("effect", ParseSlow, false);
  cause.weight = static_cast<int>(reader.IntOr("weight", 60));
  cause.title = reader.Text("title");
  cause.on = reader.TextOr("on", "");
  const size_t before = lines.size();
  ReadLines(reader, cause.id, "", lines);
  cause.signs = SignRefs(reader, "signs");
  if (lines.size() > before) cause.signs.push_back({cause.id, {}, 0});
  cause.all = SignRefs(reader, "all");
  cause.unless = SignRefs(reader, "unless");
  cause.heals = SignRefs(reader, "heals");
  cause.explains = reader.TextsOr("explains");
  for (const YamlNode& item : reader.Items("against")) {
    YamlFindings findings;
    YamlReader inner(item, reader.file(), findings);
    AgainstRef against;
    auto ref = ParseSignRef(inner.Text("fact"));
    if (ref.ok()) against.sign = std::move(*ref);
    against.lowers = static_cast<int>(inner.IntOr("lowers", 20));
    against.says = inner.Text("says");
    inner.Done();
    if (!ref.ok() || !findings.empty()) reader.SayAt(item, "an against needs fact, lowers, says");
    cause.against.push_back(std::move(against));
  }
  cause.settle = reader.Text("settle");
  cause.next = reader.Text("next");
  cause.runbook = reader.TextOr("runbook", "");
  cause.source = reader.Text("source");
  cause.yes = reader.TextsOr("yes");
  cause.no = reader.TextsOr("no");
  if (cause.signs.empty()) reader.Say(cause.id + ": no sign leads to it");
  return cause;
}

}  // namespace

std::span<const std::string_view> Layers() { return kLayers; }

bool Condition::Holds(const Fact& fact) const {
  const std::string_view have = fact.Get(attr);
  switch (op) {
    case Op::kEqual:
      return std::any_of(values.begin(), values.end(), [&](const std::string& value) {
        return !have.empty() && EqualsIgnoreCase(have, value);
      });
    case Op::kNotEqual:
      return std::none_of(values.begin(), values.end(),
                          [&](const std::string& value) { return EqualsIgnoreCase(have, value); });
    case Op::kContains:
    case Op::kLacks: {
      const std::string lower = ToLower(have);
      const bool there = std::any_of(values.begin(), values.end(), [&](const std::string& value) {
        return lower.find(ToLower(value)) != std::string::npos;
      });
      return there == (op == Op::kContains);
    }
    default:
      break;
  }
  const auto number = fact.Number(attr);
  const auto wanted = ParseDouble(values.front());
  if (!number || !wanted.ok()) return false;
  switch (op) {
    case Op::kAtLeast:
      return *number >= *wanted;
    case Op::kAtMost:
      return *number <= *wanted;
    case Op::kGreater:
      return *number > *wanted;
    default:
      return *number < *wanted;
  }
}

bool Condition::Unparsable(const Fact& fact) const {
  if (op == Op::kEqual || op == Op::kNotEqual || op == Op::kContains || op == Op::kLacks)
    return false;
  const std::string_view have = fact.Get(attr);
  if (have.empty() || fact.Number(attr)) return false;
  const bool word = std::all_of(have.begin(), have.end(), [](char c) {
    return std::isalpha(static_cast<unsigned char>(c)) || std::strchr(" /-_[]", c) != nullptr;
  });
  return !word;
}

bool SignRef::Holds(const Fact& f) const {
  return f.id == fact && std::all_of(where.begin(), where.end(), [&](const Condition& condition) {
           return condition.Holds(f);
         });
}

Result<SignRef> ParseSignRef(std::string_view text) {
  SignRef ref;
  for (const std::string_view word : SplitBlank(text)) {
    if (ref.fact.empty()) {
      ref.fact = word;
    } else if (word.starts_with('@')) {
      TRY(const int64_t weight, ParseInt(word.substr(1)));
      ref.weight = static_cast<int>(weight);
    } else {
      TRY(Condition condition, ParseCondition(word));
      ref.where.push_back(std::move(condition));
    }
  }
  if (ref.fact.empty()) return Fail(Code::kInvalid, "a sign needs the name of a fact");
  return ref;
}

const Cause* Knowledge::Find(std::string_view id) const {
  for (const Cause& cause : causes)
    if (cause.id == id) return &cause;
  return nullptr;
}

const Reason* Knowledge::ReasonIn(const Fact& fact) const {
  const std::string said = ToLower(fact.text) + "\n" + ToLower(fact.Get("what"));
  for (const Reason& reason : reasons)
    for (const std::string& word : reason.words)
      if (Contains(said, word)) return &reason;
  return nullptr;
}

namespace {

using ReadRoot = Result<YamlNode> (*)(const EmbeddedFile& file);

Result<Knowledge> KnowledgeOf(std::span<const EmbeddedFile> files, ReadRoot read) {
  Knowledge knowledge;
  YamlFindings findings;
  std::set<std::string, std::less<>> ids;
  for (const EmbeddedFile& file : files) {
    if (!file.name.starts_with("diagnose/")) continue;
    TRY(const YamlNode root, read(file));
    YamlReader reader(root, file.name, findings);
    for (const YamlNode& item : reader.Items("signs")) {
      YamlReader sign(item, file.name, findings);
      const std::string id = sign.Text("id");
      ReadLines(sign, id, sign.TextOr("title", ""), knowledge.lines);
      (void)sign.Text("source");
      sign.Done();
    }
    for (const YamlNode& item : reader.Items("causes")) {
      YamlReader entry(item, file.name, findings);
      knowledge.causes.push_back(ReadCause(entry, knowledge.lines));
      if (!ids.insert(knowledge.causes.back().id).second)
        entry.Say(fmt::format("{} is there twice", knowledge.causes.back().id));
      entry.Done();
    }
    for (const YamlNode& item : reader.Items("reasons")) {
      YamlReader reason(item, file.name, findings);
      knowledge.reasons.push_back(
          {reason.Text("says"), reason.TextOr("next", ""), reason.TextsOr("words")});
      (void)reason.Text("source");
      reason.Done();
    }
    for (const YamlNode& item : reader.Items("printers")) {
      YamlReader printer(item, file.name, findings);
      const std::string layer = printer.Text("layer"), kind = printer.Text("kind");
      if (kind != "driver" && kind != "daemon") printer.Say("kind is driver or daemon");
      auto& layers = kind == "driver" ? knowledge.printers.drivers : knowledge.printers.daemons;
      for (const std::string& name : printer.TextsOr("names"))
        if (!layers.emplace(name, layer).second) printer.Say(name + " is there twice");
      (void)printer.Text("source");
      printer.Done();
    }
    reader.Done();
  }
  for (const Cause& cause : knowledge.causes) {
    for (const std::string& explained : cause.explains) {
      const bool prefix = explained.ends_with('*');
      const std::string_view stem =
          std::string_view(explained).substr(0, explained.size() - (prefix ? 1 : 0));
      const auto first = ids.lower_bound(stem);
      if (first == ids.end() || !(prefix ? first->starts_with(stem) : *first == stem))
        findings.push_back(
            {cause.id, {}, fmt::format("explains {}, which is no cause", explained)});
    }
  }
  // A sign with the id of a cause adds its lines to that cause.
  std::unordered_set<std::string_view> with_lines;
  for (const SignLine& line : knowledge.lines) with_lines.insert(line.id);
  for (Cause& cause : knowledge.causes) {
    const bool asks = std::any_of(cause.signs.begin(), cause.signs.end(),
                                  [&](const SignRef& sign) { return sign.fact == cause.id; });
    if (with_lines.contains(cause.id) && !asks) cause.signs.push_back({cause.id, {}, 0});
  }
  TRY_VOID(ToStatus(findings));
  knowledge.plan = MakeReaderPlan(knowledge.lines);
  return knowledge;
}

}  // namespace

Result<Knowledge> ParseKnowledge(std::span<const EmbeddedFile> files) {
  return KnowledgeOf(files,
                     [](const EmbeddedFile& file) { return ParseYaml(file.text, file.name); });
}

Result<const Knowledge*> LoadKnowledge() {
  static const Result<Knowledge> knowledge =
      KnowledgeOf(EmbeddedRules(), [](const EmbeddedFile& file) { return ReadTree(file.text); });
  if (!knowledge.ok()) return Fail(knowledge.error());
  return &*knowledge;
}

}  // namespace muster::diagnose
