// What is left of a diagnosis when the rules that know a fault are taken away: a fault that nobody
// wrote a rule for must end as "not enough to judge", and never as health.
#include <cstdlib>
#include <iostream>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "diagnose/diagnosis.h"
#include "diagnose/reader.h"
#include "diagnose/testing/case_set.h"

namespace muster::diagnose {
namespace {

// The same catalogue without the lines of `gone`: what readers of tables and documents find stays,
// and so does what complains in general.
Knowledge Without(const Knowledge& all, const std::set<std::string>& gone) {
  Knowledge less = all;
  std::erase_if(less.lines, [&](const SignLine& line) { return gone.contains(line.id); });
  less.plan = MakeReaderPlan(less.lines);
  return less;
}

bool IsGeneric(std::string_view sign) { return sign.starts_with("unread."); }

// Takes away what is found until nothing is; true when the text then counts as healthy.
bool EndsHealthy(const testing::Case& c) {
  const Knowledge& all = *LoadKnowledge().value();
  std::set<std::string> gone;
  for (int round = 0; round < 12; ++round) {
    const Knowledge less = Without(all, gone);
    const Diagnosis d = testing::DiagnoseCaseWith(less, c);
    if (d.outcome == Outcome::kNothing) return true;
    const size_t before = gone.size();
    for (const Finding& f : d.findings) {
      gone.insert(f.cause->id);
      for (const SignRef& sign : f.cause->signs)
        if (!IsGeneric(sign.fact)) gone.insert(sign.fact);
    }
    if (gone.size() == before) return false;
  }
  return false;
}

// The words of the second opinion were learned from these very cases, which makes this milder than
// a message that nobody has seen. All cases nightly, one of twelve otherwise.
TEST(Ablation, AFaultWithoutARuleIsHardlyEverCalledHealthy) {
  const size_t step = std::getenv("MUSTER_NIGHTLY") != nullptr ? 1 : 12;
  size_t faulty = 0, healthy = 0, number = 0;
  for (const auto& c : testing::ReadCases("captures/diagnose")) {
    if (c.outcome != "finding" || number++ % step != 0) continue;
    ++faulty;
    if (!EndsHealthy(c)) continue;
    ++healthy;
    std::cout << "healthy without its rules: " << c.name << "\n";
  }
  std::cout << "healthy without their rules: " << healthy << " of " << faulty << "\n";
  EXPECT_GE(faulty, 80u);
  EXPECT_LE(healthy * 100, faulty * (step == 1 ? 2 : 5));
}

}  // namespace
}  // namespace muster::diagnose
