#include "probes/dcgm_exporter/exposition.h"

#include <cmath>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace muster::dcgm_exporter {
namespace {

struct Kept {
  std::string name, labels;
  double value = 0;
  std::optional<double> timestamp_s;
  bool operator==(const Kept&) const = default;
};
struct Page {
  Exposition report;
  std::vector<Kept> samples;
};

Page Read(std::string_view text, Dialect dialect = Dialect::kText004) {
  Page page;
  page.report = ParseExposition(text, dialect, [&](const Sample& sample) {
    Kept kept{std::string(sample.name), {}, sample.value, sample.timestamp_s};
    for (const Label& label : sample.labels) {
      kept.labels += std::string(label.name) + "=" + label.Value() + ";";
    }
    page.samples.push_back(kept);
  });
  return page;
}

Kept One(std::string_view text, Dialect dialect = Dialect::kText004) {
  const Page page = Read(text, dialect);
  EXPECT_EQ(page.samples.size(), 1u) << text;
  EXPECT_EQ(page.report.bad_lines, 0u) << text;
  return page.samples.empty() ? Kept{} : page.samples[0];
}

TEST(Exposition, ReadsNameLabelsAndValue) {
  const Kept kept = One("DCGM_FI_DEV_GPU_UTIL{gpu=\"3\",hostname=\"node-07\"} 97\n");
  EXPECT_EQ(kept, (Kept{"DCGM_FI_DEV_GPU_UTIL", "gpu=3;hostname=node-07;", 97, std::nullopt}));
}

TEST(Exposition, TakesBlanksAndTrailingCommasWhereTheFormatAllowsThem) {
  EXPECT_EQ(One("  m { a = \"1\" , b=\"2\", }\t7 \n"), (Kept{"m", "a=1;b=2;", 7, std::nullopt}));
  EXPECT_EQ(One("m{} 1\n").labels, "");
  EXPECT_EQ(One("m 1\r\n").value, 1);
}

TEST(Exposition, UndoesEscapes) {
  EXPECT_EQ(One("m{p=\"C:\\\\DIR\\n\\\"x\\\"\"} 1\n").labels, "p=C:\\DIR\n\"x\";");
  EXPECT_EQ(One("m{p=\"ends with a backslash\\\\\"} 1\n").labels, "p=ends with a backslash\\;");
}

TEST(Exposition, ReadsWhatIsNotFinite) {
  EXPECT_TRUE(std::isnan(One("m NaN\n").value));
  EXPECT_EQ(One("m +Inf\n").value, INFINITY);
  EXPECT_EQ(One("m -Inf\n").value, -INFINITY);
  EXPECT_EQ(One("m 1.5e-3\n").value, 0.0015);
}

TEST(Exposition, TimestampsAreMillisecondsIn004AndSecondsInOpenMetrics) {
  EXPECT_EQ(One("m 1 1395066363000\n").timestamp_s, 1395066363.0);
  EXPECT_EQ(One("m 1 1395066363.5\n# EOF\n", Dialect::kOpenMetrics).timestamp_s, 1395066363.5);
}

TEST(Exposition, KeepsExemplarsApartFromTheValue) {
  const Page page = Read("h_bucket{le=\"1\"} 17 # {trace_id=\"a b\"} 0.67 1520879607.789\n# EOF",
                         Dialect::kOpenMetrics);
  ASSERT_EQ(page.samples.size(), 1u);
  EXPECT_EQ(page.samples[0].value, 17);
  EXPECT_FALSE(page.report.truncated);
}

TEST(Exposition, KeepsMetadataOfEachFamily) {
  const Page page =
      Read("# HELP m Two\\nlines.\n# TYPE m gauge\n# any comment\nm 1\n# TYPE n counter\n");
  ASSERT_EQ(page.report.families.size(), 2u);
  EXPECT_EQ(page.report.families[0].help, "Two\nlines.");
  EXPECT_EQ(page.report.families[0].type, "gauge");
  EXPECT_EQ(page.report.families[1].type, "counter");
}

TEST(Exposition, ReadsQuotedNamesOfPrometheus3) {
  EXPECT_EQ(One("{\"my.metric\",\"a.b\"=\"c\"} 1\n"),
            (Kept{"my.metric", "a.b=c;", 1, std::nullopt}));
}

TEST(Exposition, NamesBadLinesAndReadsOn) {
  const char* const bad[] = {
      "m",          "m{a=\"1\" 2",   "m{a=1} 2",        "m{=\"1\"} 2",         "{a=\"1\"} 2",
      "m 1x",       "m 0x10",        "m 1 2 3",         "m 1 yesterday",       "9m 1",
      "m{a=\"1} 2", "m infinity(1)", "m 1 # {a=\"1\"}", "m{a=\"1\"b=\"2\"} 1", "m 1e999"};
  for (const char* line : bad) {
    const Page page = Read(std::string("ok 1\n") + line + "\nok 2\n");
    EXPECT_EQ(page.report.bad_lines, 1u) << line;
    EXPECT_EQ(page.samples.size(), 2u) << line;
    ASSERT_FALSE(page.report.bad.empty()) << line;
    EXPECT_EQ(page.report.bad[0].number, 2u) << line;
  }
}

TEST(Exposition, OpenMetricsWithoutItsEndIsTruncated) {
  EXPECT_TRUE(Read("m 1\n", Dialect::kOpenMetrics).report.truncated);
  EXPECT_FALSE(Read("m 1\n# EOF\n", Dialect::kOpenMetrics).report.truncated);
  EXPECT_EQ(Read("m 1\n# EOF\nm 2\n", Dialect::kOpenMetrics).report.bad_lines, 1u);
}

TEST(Exposition, TellsTheDialectFromTheContentType) {
  EXPECT_EQ(DialectOf("application/openmetrics-text; version=1.0.0; charset=utf-8"),
            Dialect::kOpenMetrics);
  EXPECT_EQ(DialectOf("text/plain; version=0.0.4"), Dialect::kText004);
  EXPECT_EQ(DialectOf(""), Dialect::kText004);
}

// "10" may be what is left of "100": no cut gives a sample that the whole page does not have.
TEST(Exposition, CutAnywhereItInventsNoSample) {
  const std::string text =
      "# HELP m Help\n# TYPE m gauge\nm{a=\"x\\\"y\",b=\"2\"} 100 1395066363000\nm{a=\"z\"} "
      "2.5e3\nn 17\n";
  const Page whole = Read(text);
  ASSERT_EQ(whole.samples.size(), 3u);
  for (size_t cut = 0; cut < text.size(); ++cut) {
    const Page page = Read(std::string_view(text).substr(0, cut));
    EXPECT_EQ(page.report.bad_lines, 0u) << cut;
    ASSERT_LE(page.samples.size(), whole.samples.size());
    for (size_t i = 0; i < page.samples.size(); ++i)
      EXPECT_EQ(page.samples[i], whole.samples[i]) << cut;
    const bool at_line_end = cut == 0 || text[cut - 1] == '\n';
    EXPECT_EQ(page.report.truncated, !at_line_end) << cut;
  }
}

TEST(Exposition, AnyLabelValueComesBackAsItWas) {
  EXPECT_TRUE(rc::check([](const std::string& value) {
    std::string escaped;
    for (const char c : value) {
      if (c == '\n') {
        escaped += "\\n";
      } else {
        if (c == '\\' || c == '"') escaped += '\\';
        escaped += c;
      }
    }
    const Page page = Read("m{a=\"" + escaped + "\"} 1\n");
    RC_ASSERT(page.samples.size() == 1u);
    RC_ASSERT(page.samples[0].labels == "a=" + value + ";");
  }));
}

TEST(Exposition, AnyBytesAreReadWithoutTrouble) {
  EXPECT_TRUE(rc::check([](const std::string& text) {
    const Page page = Read(text, Dialect::kOpenMetrics);
    RC_ASSERT(page.samples.size() == page.report.samples);
  }));
}

}  // namespace
}  // namespace muster::dcgm_exporter
