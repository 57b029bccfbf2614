#include "backend/lab/work/trainer/gemm.h"

#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace muster::lab {
namespace {

std::vector<float> Some(size_t n, unsigned salt) {
  std::vector<float> values(n);
  for (size_t i = 0; i < n; ++i)
    values[i] = static_cast<float>((i * 2654435761u + salt) % 17) - 8.0f;
  return values;
}

// Small whole numbers: sums are exact in any order.
TEST(Gemm, EqualsTheSumByHandForEveryShape) {
  EXPECT_TRUE(rc::check("any shape", [] {
    const auto m = *rc::gen::inRange<size_t>(1, 14), n = *rc::gen::inRange<size_t>(1, 40),
               k = *rc::gen::inRange<size_t>(1, 20);
    const auto a = Some(m * k, 1), b = Some(k * n, 5);
    std::vector<float> c(m * n, -1.0f);
    Gemm(m, n, k, a, b, c);
    for (size_t i = 0; i < m; ++i)
      for (size_t j = 0; j < n; ++j) {
        float sum = 0;
        for (size_t p = 0; p < k; ++p) sum += a[i * k + p] * b[p * n + j];
        RC_ASSERT(c[i * n + j] == sum);
      }
  }));
}

TEST(Transpose, TwiceIsTheSame) {
  const auto from = Some(19 * 33, 3);
  std::vector<float> once(from.size()), twice(from.size());
  Transpose(19, 33, from, once);
  EXPECT_EQ(once[5 * 19 + 7], from[7 * 33 + 5]);
  Transpose(33, 19, once, twice);
  EXPECT_EQ(twice, from);
}

}  // namespace
}  // namespace muster::lab
