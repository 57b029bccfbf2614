#include "app/explain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "catalogue/catalogue.h"

namespace muster {
namespace {

using ::testing::HasSubstr;

std::string CriterionField(const Explanation& e, const std::string& name) {
  for (const auto& [field, text] : e.fields)
    if (field == name) return text;
  return "";
}

TEST(Explain, EveryCodeOfTheCatalogueHasWhySourceFixAndNext) {
  for (const Criterion& criterion : LoadEmbedded().value()->criteria) {
    const auto e = Explain(criterion.code);
    ASSERT_TRUE(e.ok()) << criterion.code;
    EXPECT_EQ(e->kind, "criterion");
    for (const char* field : {"why", "measured by", "fact", "pass", "source", "fix", "next"}) {
      EXPECT_NE(CriterionField(*e, field), "") << criterion.code << " " << field;
    }
    EXPECT_EQ(CriterionField(*e, "next").find('{'), std::string::npos)
        << criterion.code << ": " << CriterionField(*e, "next");
  }
}

TEST(Explain, EverythingThatIsListedIsKnown) {
  const auto codes = ExplainableCodes();
  EXPECT_GT(codes.size(), 100u);
  for (const std::string& code : codes) {
    const auto e = Explain(code);
    ASSERT_TRUE(e.ok()) << code << ": " << e.error().ToString();
    EXPECT_NE(e->title, "") << code;
  }
}

TEST(Explain, CaseDoesNotMatter) {
  for (const char* code : {"fab-001", "Gate-2", "xid-79", "FABRIC-validation"}) {
    EXPECT_TRUE(Explain(code).ok()) << code;
  }
  EXPECT_EQ(Explain("xid-79")->kind, "xid");
}

TEST(Explain, UnknownCodeNamesTheNearest) {
  const std::pair<const char*, const char*> kNear[] = {
      {"FAB-0O1", "FAB-0"}, {"link_dwn", "link_down"}, {"gpu.cuont", "gpu.count"}};
  for (const auto& [asked, near] : kNear) {
    const auto e = Explain(asked);
    ASSERT_FALSE(e.ok());
    EXPECT_EQ(e.error().code, Code::kNotFound);
    EXPECT_THAT(e.error().message, HasSubstr(near)) << asked;
  }
  EXPECT_FALSE(Explain("").ok());
  EXPECT_FALSE(Explain("XID-").ok());
  EXPECT_FALSE(Explain("XID-99999").ok());
}

}  // namespace
}  // namespace muster
