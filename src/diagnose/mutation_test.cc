// Damage must never turn a faulty input into a healthy verdict. Each case of the golden set that
// has a finding is cut, shuffled, stripped of keys, given other units and decimal commas; the
// damaged text may lead to the same cause, another, or "not enough", but not to "nothing is wrong",
// unless nothing but whole lines was taken out: that cannot be told from a text in which they were
// never written (docs/limits.md), and is counted apart.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <iostream>
#include <numeric>
#include <random>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/strings.h"
#include "diagnose/testing/case_set.h"

namespace muster::diagnose {
namespace {

using testing::Case;

// Of kinds 5 (bytes flip) and 6 (a piece goes) some turn a short text into another that is as good:
// these are held to a bound, the others to none at all.
constexpr size_t kKinds = 7;
bool Strict(size_t kind) { return kind < 5; }

std::string Damaged(std::string text, size_t kind, std::mt19937_64& random) {
  const auto below = [&](size_t n) { return n == 0 ? 0 : random() % n; };
  switch (kind) {
    case 0:  // cut
      text.resize(below(text.size()));
      break;
    case 1: {  // some lines change places
      std::vector<std::string> lines;
      for (const std::string_view line : Lines(text)) lines.emplace_back(line);
      for (size_t i = 0; lines.size() > 1 && i < 4; ++i)
        std::swap(lines[below(lines.size())], lines[below(lines.size())]);
      text = Join(lines, "\n") + "\n";
      break;
    }
    case 2: {  // a key, or whatever stands before a colon, goes
      const size_t colon = text.find(':', below(text.size()));
      if (colon == std::string::npos) break;
      size_t begin = colon;
      while (begin > 0 && text[begin - 1] != '\n' && text[begin - 1] != ' ' &&
             text[begin - 1] != '{' && text[begin - 1] != ',')
        --begin;
      text.erase(begin, colon - begin);
      break;
    }
    case 3: {  // another unit
      for (const auto& [from, to] : {std::pair{"GB/s", "Gb/s"},
                                     {"Gbps", "Mbps"},
                                     {" C\n", " F\n"},
                                     {"Gb/sec", "Mb/sec"},
                                     {" us", " ms"}}) {
        const size_t at = text.find(from);
        if (at != std::string::npos) text.replace(at, std::string_view(from).size(), to);
      }
      break;
    }
    case 4:  // another locale
      for (size_t i = 1; i + 1 < text.size(); ++i)
        if (text[i] == '.' && std::isdigit(static_cast<unsigned char>(text[i - 1])) &&
            std::isdigit(static_cast<unsigned char>(text[i + 1])))
          text[i] = ',';
      break;
    case 5: {  // bytes flip
      for (int i = 0; i < 3 && !text.empty(); ++i)
        text[below(text.size())] = static_cast<char>(random() & 0xff);
      break;
    }
    default: {  // a piece is missing
      const size_t at = below(text.size());
      text.erase(at, below(200));
      break;
    }
  }
  return text;
}

// Lines that were taken out whole, with all others in their order: such a text is one in which they
// were never written. The end of the last line may be lost with them, as in a pasted text.
bool OnlyWholeLinesLost(const std::string& original, const std::string& damaged) {
  const auto lines = Lines(original);
  size_t at = 0;
  for (const std::string_view line : Lines(damaged)) {
    while (at < lines.size() && lines[at] != line) ++at;
    if (at++ == lines.size()) return false;
  }
  return true;
}

TEST(Mutation, DamageNeverMakesAFaultyInputHealthy) {
  const bool nightly = std::getenv("MUSTER_NIGHTLY") != nullptr;
  const size_t rounds = nightly ? 100'000 : 3'000;
  std::vector<Case> faulty;
  for (Case& c : testing::ReadCases("captures/diagnose")) {
    if (c.outcome != "finding" || c.files.size() != 1) continue;
    if (c.files[0].second.size() > 20'000 || c.files[0].second.starts_with("\xff")) continue;
    faulty.push_back(std::move(c));
  }
  ASSERT_GT(faulty.size(), 100u);
  std::mt19937_64 random(20261120);
  std::array<size_t, kKinds> healthy{};
  size_t lines_gone = 0, shown = 0;
  for (size_t round = 0; round < rounds; ++round) {
    const size_t which = random() % faulty.size();
    Case c = faulty[which];
    const size_t kind = random() % kKinds;
    c.files[0].second = Damaged(c.files[0].second, kind, random);
    const Diagnosis d = testing::DiagnoseCase(c);
    if (d.outcome != Outcome::kNothing) continue;
    if (OnlyWholeLinesLost(faulty[which].files[0].second, c.files[0].second)) {
      ++lines_gone;
      continue;
    }
    const std::string text = Printable(c.files[0].second);
    ++healthy[kind];
    const std::string what =
        fmt::format("kind {}: {} turned healthy:\n{}\n", kind, c.name, Shorten(text, 1500));
    if (Strict(kind))
      ADD_FAILURE() << what;
    else if (shown++ < 20)
      std::cout << what;
  }
  const size_t all = std::accumulate(healthy.begin(), healthy.end(), size_t{0});
  std::cout << rounds << " damages: " << all << " healthy (by kind";
  for (const size_t count : healthy) std::cout << " " << count;
  std::cout << "), " << lines_gone << " lost whole lines and nothing else\n";
  EXPECT_LE(all * 100, rounds);
}

TEST(Mutation, AnyBytesAreRead) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 300; ++round) {
    std::string bytes(random() % 4000, ' ');
    for (char& c : bytes) c = static_cast<char>(random() & 0xff);
    (void)testing::DiagnoseText(bytes);
  }
}

}  // namespace
}  // namespace muster::diagnose
