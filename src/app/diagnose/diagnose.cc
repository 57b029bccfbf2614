#include "app/diagnose/diagnose.h"

#include <algorithm>

#include <fmt/format.h>

#include "app/capture.h"
#include "app/check.h"
#include "base/strings.h"
#include "diagnose/decode.h"

namespace muster {

namespace {

// Between the port and the reader: text in any encoding becomes UTF-8, what is no text is named.
class ReaderSink : public InputSink {
 public:
  ReaderSink(const diagnose::Knowledge& knowledge, const OnFinding& on_finding)
      : knowledge_(knowledge), reader_(knowledge), on_finding_(on_finding) {}

  void Begin(const std::string& name) override {
    name_ = name;
    decoder_ = diagnose::Decoder();
    begun_ = false;
  }
  bool Feed(std::string_view bytes) override {
    const auto text = decoder_.Decode(bytes);
    if (!text) {
      if (begun_) reader_.End();
      begun_ = false;
      binary_ = true;
      return false;
    }
    if (!begun_) reader_.Begin(name_);
    begun_ = true;
    reader_.Feed(*text);
    Tell();
    return true;
  }
  void End() override {
    if (binary_) {
      unreadable.emplace_back(name_, "binary data, no log that is known");
      binary_ = false;
      return;
    }
    if (!begun_) {
      unreadable.emplace_back(name_, "empty");
      return;
    }
    reader_.End();
    ++readable;
    Tell();
  }
  void Broken(const std::string& name, const std::string& why) override {
    unreadable.emplace_back(name, why);
  }

  diagnose::Reader& reader() { return reader_; }
  std::vector<std::pair<std::string, std::string>> unreadable;
  size_t readable = 0;

 private:
  // Judging is cheap beside reading, but not free: only when a new sign was seen, and never more
  // often than the signs double.
  void Tell() {
    if (!on_finding_ || reader_.Signs() < next_signs_) return;
    next_signs_ = 2 * reader_.Signs() + 1;
    const auto diagnosis = diagnose::Judge(knowledge_, reader_.Snapshot());
    if (diagnosis.outcome != diagnose::Outcome::kFinding) return;
    const diagnose::Finding& first = diagnosis.findings.front();
    if (first.title == told_) return;
    told_ = first.title;
    on_finding_(first);
  }

  const diagnose::Knowledge& knowledge_;
  diagnose::Reader reader_;
  const OnFinding& on_finding_;
  diagnose::Decoder decoder_;
  std::string name_, told_;
  bool begun_ = false, binary_ = false;
  size_t next_signs_ = 1;
};

constexpr int kPaperGate = 1;  // facility budgets and who signed them

std::string_view ReasonWord(UnknownReason reason) {
  switch (reason) {
    case UnknownReason::kToolFault:
      return "tool";
    case UnknownReason::kNotPermitted:
      return "permission";
    case UnknownReason::kUnparsable:
      return "unparsable";
    case UnknownReason::kUnreachable:
      return "unreachable";
    case UnknownReason::kStale:
      return "stale";
    default:
      return "not_observed";
  }
}

DiagnoseResult Conclude(const diagnose::Knowledge& knowledge, ReaderSink& sink,
                        diagnose::Evidence evidence) {
  DiagnoseResult result;
  result.diagnosis = diagnose::Judge(knowledge, evidence);
  result.evidence = std::move(evidence);
  result.unreadable = std::move(sink.unreadable);
  result.readable = sink.readable;
  return result;
}

bool IsCapture(Files& files, const std::string& path) {
  const auto manifest = files.Stat(path + "/manifest.json");
  return manifest.ok() && files.Stat(path + "/site.yaml").ok() && ReadCapture(files, path).ok();
}

}  // namespace

void AddVerdictFacts(const std::vector<GateResult>& gates, const std::string& where,
                     diagnose::Evidence& evidence) {
  for (const GateResult& gate : gates) {
    evidence.recognised[fmt::format("verdicts of gate {}", gate.gate)] += gate.verdicts.size();
    evidence.proven = true;
    for (const Verdict& v : gate.verdicts) {
      // Proofs are not in a capture: that a proof was not run says nothing. What gate 1 asks for is
      // paper: that it is not there is what is wrong.
      if (v.level == Level::kPass || v.level == Level::kNotApplicable) continue;
      const bool paper = gate.gate == kPaperGate && v.reason == UnknownReason::kNotObserved;
      if (v.level == Level::kUnknown && !paper &&
          (!v.reason || *v.reason == UnknownReason::kNotObserved ||
           *v.reason == UnknownReason::kTooFewSamples))
        continue;
      diagnose::Fact fact;
      fact.id = "verdict";
      fact.Set("code", v.code);
      fact.Set("level", ToString(v.level));
      fact.Set("subject", v.subject.id);
      const auto parts = Split(v.subject.id, '/');
      switch (v.subject.kind) {
        case SubjectKind::kNode:
        case SubjectKind::kGpu:
        case SubjectKind::kHca:
          fact.Set("host", parts.front());
          if (v.subject.kind == SubjectKind::kGpu && parts.size() > 1) fact.Set("gpu", parts[1]);
          if (v.subject.kind == SubjectKind::kHca && parts.size() > 1) fact.Set("device", parts[1]);
          break;
        default:
          fact.Set("device", v.subject.id);
      }
      if (v.reason) fact.Set("reason", ReasonWord(*v.reason));
      fact.Set("value", v.measured);
      if (v.level == Level::kUnknown) fact.Set("says", Shorten(v.text, diagnose::kTextBytes));
      fact.Set("max", v.wanted);
      fact.at = {where, 0};
      fact.text = Shorten(Printable(fmt::format("{} {}: {}", v.code, v.subject.ToString(), v.text)),
                          diagnose::kTextBytes);
      evidence.facts.Add(std::move(fact));
    }
  }
}

Result<diagnose::Diagnosis> DiagnoseGates(const std::vector<GateResult>& gates,
                                          const std::string& where) {
  TRY(const diagnose::Knowledge* const knowledge, diagnose::LoadKnowledge());
  diagnose::Evidence evidence;
  AddVerdictFacts(gates, where, evidence);
  return diagnose::Judge(*knowledge, evidence);
}

Result<DiagnoseResult> DiagnoseInputs(World& world, Inputs& inputs,
                                      const std::vector<std::string>& paths,
                                      const OnFinding& on_finding) {
  TRY(const diagnose::Knowledge* const knowledge, diagnose::LoadKnowledge());
  ReaderSink sink(*knowledge, on_finding);
  std::vector<std::pair<std::string, std::vector<GateResult>>> captures;
  for (const std::string& path : paths) {
    if (path != "-" && IsCapture(world.files, path)) {
      TRY(const Catalogue* const catalogue, LoadEmbedded());
      CheckOptions options;
      options.replay = path;
      auto gates = CheckCapture(world, *catalogue, options);
      if (gates.ok()) {
        captures.emplace_back(path, std::move(*gates));
        ++sink.readable;
      } else {
        sink.unreadable.emplace_back(path, gates.error().ToString());
      }
      continue;
    }
    inputs.Visit(path, sink);
  }
  diagnose::Evidence evidence = sink.reader().Take();
  for (const auto& [path, gates] : captures) AddVerdictFacts(gates, path, evidence);
  return Conclude(*knowledge, sink, std::move(evidence));
}

Result<DiagnoseResult> FollowInput(Inputs& inputs, const std::string& path,
                                   const OnFinding& on_finding, const std::function<bool()>& more) {
  TRY(const diagnose::Knowledge* const knowledge, diagnose::LoadKnowledge());
  ReaderSink sink(*knowledge, on_finding);
  sink.Begin(path);
  uint64_t offset = 0;
  do {
    auto next = inputs.ReadFrom(path, offset, sink);
    if (!next.ok()) {
      if (offset == 0) return Fail(next.error());
      break;
    }
    offset = *next;
  } while (more());
  sink.End();
  return Conclude(*knowledge, sink, sink.reader().Take());
}

}  // namespace muster
