#include "app/ledger_codec.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace muster {
namespace {

TimePoint At(int64_t nanos) { return TimePoint{Duration{nanos}}; }

RunHeader Header() {
  RunHeader h;
  h.run = "r-20261120T031200-7f3a";
  h.site_name = "a \"site\"";
  h.site_text = "kind: Site\nname: \xC3\xA4\n";
  h.site_sha256 = std::string(64, 'a');
  h.catalogue_sha256 = std::string(64, 'b');
  h.version = "0.1.0";
  h.by = "ops@here";
  h.from = 2;
  h.to = 7;
  h.scope = "pair";
  h.nodes = {"node000", "node001"};
  h.at = At(1'795'142'400'123'456'789);
  h.origin = Origin::kRehearsed;
  h.look_only = true;
  return h;
}

TEST(LedgerCodec, HeaderComesBackToTheNanosecond) {
  const auto h = DecodeHeader(EncodeHeader(Header()));
  ASSERT_TRUE(h.ok()) << h.error().ToString();
  EXPECT_EQ(h->run, Header().run);
  EXPECT_EQ(h->site_name, Header().site_name);
  EXPECT_EQ(h->site_text, Header().site_text);
  EXPECT_EQ(h->site_sha256, Header().site_sha256);
  EXPECT_EQ(h->catalogue_sha256, Header().catalogue_sha256);
  EXPECT_EQ(h->version, Header().version);
  EXPECT_EQ(h->by, Header().by);
  EXPECT_EQ(h->from, 2);
  EXPECT_EQ(h->to, 7);
  EXPECT_EQ(h->scope, "pair");
  EXPECT_EQ(h->nodes, Header().nodes);
  EXPECT_EQ(h->at, Header().at);
  EXPECT_EQ(h->origin, Origin::kRehearsed);
  EXPECT_TRUE(h->look_only);
}

TEST(LedgerCodec, ActComesBack) {
  const ActRecord act{"converge", {"a", "b c"}, "in doubt", "it said\n\"this\"", -3};
  int gate = 0;
  ActRecord read;
  ASSERT_TRUE(DecodeAct(EncodeAct(4, act), gate, read).ok());
  EXPECT_EQ(gate, 4);
  EXPECT_EQ(read.name, act.name);
  EXPECT_EQ(read.argv, act.argv);
  EXPECT_EQ(read.outcome, act.outcome);
  EXPECT_EQ(read.output, act.output);
  EXPECT_EQ(read.exit_code, -3);
}

TEST(LedgerCodec, GateBeginsResumedAndClosedComeBack) {
  int gate = 0;
  TimePoint at;
  Level level = Level::kPass;
  ASSERT_TRUE(DecodeGateBegins(EncodeGateBegins(6, At(77)), gate, at).ok());
  EXPECT_EQ(gate, 6);
  EXPECT_EQ(at, At(77));
  ASSERT_TRUE(DecodeClosed(EncodeClosed(Level::kUnknown, At(78)), level, at).ok());
  EXPECT_EQ(level, Level::kUnknown);
  EXPECT_EQ(at, At(78));
  EXPECT_EQ(DecodeResumed(EncodeResumed(At(0), "a torn tail")), "1970-01-01T00:00:00Z");
}

RC_GTEST_PROP(LedgerCodecProperty, ReadingComesBackByteForByte,
              (const std::string& text, int exit_code, bool fault)) {
  Reading reading;
  reading.probe = "nvidia_smi.query";
  reading.host = "node001";
  reading.command = "nvidia-smi -q -x";
  reading.exit_code = exit_code;
  reading.text = text;  // any bytes: a tool may print what it likes
  reading.stderr_text = "warning: x";
  reading.at = At(123456789);
  reading.took = Duration{42};
  reading.origin = Origin::kReplayed;
  if (fault) reading.fault = Unobserved{UnknownReason::kToolFault, "hung"};
  int gate = 0;
  Reading read;
  RC_ASSERT(DecodeReading(EncodeReading(3, reading), gate, read).ok());
  RC_ASSERT(gate == 3);
  RC_ASSERT(read.text == text);
  RC_ASSERT(read.exit_code == exit_code);
  RC_ASSERT(read.fault == reading.fault);
  RC_ASSERT(read.at == reading.at);
  RC_ASSERT(read.took == reading.took);
  RC_ASSERT(read.origin == Origin::kReplayed);
  RC_ASSERT(read.probe == reading.probe && read.host == reading.host);
  RC_ASSERT(read.command == reading.command && read.stderr_text == reading.stderr_text);
}

GateResult Result3() {
  GateResult r;
  r.gate = 3;
  r.level = Level::kFail;
  r.waived_by = "A. Person until 2026";
  Verdict v;
  v.code = "NOD-001";
  v.gate = 3;
  v.subject = GpuSubject("node000", 1);
  v.level = Level::kUnknown;
  v.reason = UnknownReason::kStale;
  v.measured = "-";
  v.wanted = "yes";
  v.text = "too old";
  v.evidence = {0, 7};
  v.origin = Origin::kRehearsed;
  r.verdicts = {v};
  r.not_applicable = {{"NOD-009", "title", "no NVLink"}};
  r.suspects = {{NodeSubject("node000"), Level::kFail, {"NOD-001", "NOD-002"}, "why", "next cmd"}};
  r.components = {{"driver", "550.1"}};
  r.figures = {{"busbw", {371.25, Unit::kGBytePerSec}}};
  r.judged_at = At(99);
  r.took = Duration{5};
  return r;
}

TEST(LedgerCodec, JudgementComesBackWhole) {
  const GateResult was = Result3();
  const auto r = DecodeResult(EncodeResult(was));
  ASSERT_TRUE(r.ok()) << r.error().ToString();
  EXPECT_EQ(r->gate, 3);
  EXPECT_EQ(r->level, Level::kFail);
  EXPECT_EQ(r->waived_by, was.waived_by);
  ASSERT_EQ(r->verdicts.size(), 1u);
  EXPECT_EQ(r->verdicts[0].subject, was.verdicts[0].subject);
  EXPECT_EQ(r->verdicts[0].reason, UnknownReason::kStale);
  EXPECT_EQ(r->verdicts[0].evidence, was.verdicts[0].evidence);
  EXPECT_EQ(r->verdicts[0].origin, Origin::kRehearsed);
  ASSERT_EQ(r->not_applicable.size(), 1u);
  EXPECT_EQ(r->not_applicable[0].reason, "no NVLink");
  ASSERT_EQ(r->suspects.size(), 1u);
  EXPECT_EQ(r->suspects[0].subject, NodeSubject("node000"));
  EXPECT_EQ(r->suspects[0].codes, was.suspects[0].codes);
  EXPECT_EQ(r->suspects[0].next, "next cmd");
  EXPECT_EQ(r->components, was.components);
  EXPECT_EQ(r->figures, was.figures);
  EXPECT_EQ(r->judged_at, At(99));
  EXPECT_EQ(r->took, Duration{5});
}

TEST(LedgerCodec, DerivedObservationsComeBack) {
  Observation o;
  o.subject = SiteSubject("s");
  o.fact = "gang.placed";
  o.seen = Value(true);
  o.observed_at = At(5);
  o.origin = Origin::kRehearsed;
  Observation none = o;
  none.fact = "gang.refused";
  none.seen = Unobserved{UnknownReason::kToolFault, "no"};
  int gate = 0;
  const auto back = DecodeDerived(EncodeDerived(4, {o, none}), gate);
  ASSERT_TRUE(back.ok()) << back.error().ToString();
  EXPECT_EQ(gate, 4);
  ASSERT_EQ(back->size(), 2u);
  EXPECT_EQ(*(*back)[0].value(), Value(true));
  EXPECT_EQ((*back)[1].unobserved()->reason, UnknownReason::kToolFault);
}

TEST(LedgerCodec, EveryPrefixIsRefusedOrTheWhole) {
  const std::vector<std::string> whole = {
      EncodeHeader(Header()), EncodeResult(Result3()), EncodeGateBegins(1, At(1)),
      EncodeClosed(Level::kPass, {}), EncodeAct(1, {"a", {"b"}, "done", "", 0})};
  for (size_t which = 0; which < whole.size(); ++which) {
    // All but a last end of line, which says nothing.
    for (size_t n = 0; n + 1 < whole[which].size(); ++n) {
      const std::string cut = whole[which].substr(0, n);
      int gate = 0;
      TimePoint at;
      Level level{};
      ActRecord act;
      EXPECT_FALSE(which == 0   ? DecodeHeader(cut).ok()
                   : which == 1 ? DecodeResult(cut).ok()
                   : which == 2 ? DecodeGateBegins(cut, gate, at).ok()
                   : which == 3 ? DecodeClosed(cut, level, at).ok()
                                : DecodeAct(cut, gate, act).ok())
          << which << " cut at " << n;
    }
  }
}

RC_GTEST_PROP(LedgerCodecProperty, NoBytesBreakTheDecoders, (const std::string& bytes)) {
  int gate = 0;
  TimePoint at;
  Level level{};
  ActRecord act;
  Reading reading;
  (void)DecodeHeader(bytes);
  (void)DecodeGateBegins(bytes, gate, at);
  (void)DecodeAct(bytes, gate, act);
  (void)DecodeReading(bytes, gate, reading);
  (void)DecodeDerived(bytes, gate);
  (void)DecodeResult(bytes);
  (void)DecodeResumed(bytes);
  (void)DecodeClosed(bytes, level, at);
}

RC_GTEST_PROP(LedgerCodecProperty, OneChangedByteNeverBreaksADecoder, ()) {
  std::string bytes = EncodeResult(Result3());
  const auto at = *rc::gen::inRange<size_t>(0, bytes.size());
  bytes[at] = static_cast<char>(*rc::gen::inRange(0, 256));
  (void)DecodeResult(bytes);
  std::string header = EncodeHeader(Header());
  header[at % header.size()] = bytes[at];
  (void)DecodeHeader(header);
}

}  // namespace
}  // namespace muster
