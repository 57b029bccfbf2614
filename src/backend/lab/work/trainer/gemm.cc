#include "backend/lab/work/trainer/gemm.h"

#include <algorithm>
#include <cstring>

#include "base/check.h"

namespace muster::lab {
namespace {

// Eight floats in one register (two where the processor has only 128-bit ones).
using Vector = float __attribute__((vector_size(32), aligned(4), may_alias));
constexpr size_t kLanes = 8;
constexpr size_t kTileRows = 4;
constexpr size_t kTileColumns = 2 * kLanes;

#define MUSTER_INLINE inline __attribute__((always_inline))

MUSTER_INLINE void Load(Vector& to, const float* from) { std::memcpy(&to, from, sizeof(to)); }
MUSTER_INLINE void Store(float* to, const Vector& from) { std::memcpy(to, &from, sizeof(from)); }

// kRows x 16 of c at once: the accumulators stay in registers, b streams from the cache.
template <size_t kRows>
MUSTER_INLINE void Tile(size_t n, size_t k, const float* a, const float* b, float* c) {
  Vector sum[kRows][2] = {};
  for (size_t p = 0; p < k; ++p) {
    Vector b0, b1;
    Load(b0, b + p * n);
    Load(b1, b + p * n + kLanes);
#pragma GCC unroll 4
    for (size_t r = 0; r < kRows; ++r) {
      const float x = a[r * k + p];
      sum[r][0] += x * b0;
      sum[r][1] += x * b1;
    }
  }
  for (size_t r = 0; r < kRows; ++r) {
    Store(c + r * n, sum[r][0]);
    Store(c + r * n + kLanes, sum[r][1]);
  }
}

// What is left on the right and at the bottom.
MUSTER_INLINE void Edge(size_t rows, size_t columns, size_t n, size_t k, const float* a,
                        const float* b, float* c) {
  for (size_t r = 0; r < rows; ++r) {
    for (size_t j = 0; j < columns; ++j) {
      float sum = 0;
      for (size_t p = 0; p < k; ++p) sum += a[r * k + p] * b[p * n + j];
      c[r * n + j] = sum;
    }
  }
}

MUSTER_INLINE void Multiply(size_t m, size_t n, size_t k, const float* a, const float* b,
                            float* c) {
  const size_t wide = n - n % kTileColumns;
  for (size_t j = 0; j < wide; j += kTileColumns) {
    size_t i = 0;
    for (; i + kTileRows <= m; i += kTileRows)
      Tile<kTileRows>(n, k, a + i * k, b + j, c + i * n + j);
    for (; i < m; ++i) Tile<1>(n, k, a + i * k, b + j, c + i * n + j);
  }
  if (wide < n) Edge(m, n - wide, n, k, a, b + wide, c + wide);
}

using Kernel = void (*)(size_t, size_t, size_t, const float*, const float*, float*);

void Baseline(size_t m, size_t n, size_t k, const float* a, const float* b, float* c) {
  Multiply(m, n, k, a, b, c);
}

#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) void Avx2(size_t m, size_t n, size_t k, const float* a,
                                              const float* b, float* c) {
  Multiply(m, n, k, a, b, c);
}
bool HasAvx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }
#else
constexpr Kernel Avx2 = Baseline;
bool HasAvx2() { return false; }
#endif

}  // namespace

void Gemm(size_t m, size_t n, size_t k, std::span<const float> a, std::span<const float> b,
          std::span<float> c) {
  CHECK(a.size() >= m * k && b.size() >= k * n && c.size() >= m * n,
        "matrices are as large as said");
  static const Kernel kernel = HasAvx2() ? Avx2 : Baseline;
  kernel(m, n, k, a.data(), b.data(), c.data());
}

void Transpose(size_t rows, size_t columns, std::span<const float> from, std::span<float> to) {
  CHECK(from.size() >= rows * columns && to.size() >= rows * columns,
        "matrices are as large as said");
  constexpr size_t kBlock = 16;  // a block of both matrices stays in the first cache
  for (size_t i0 = 0; i0 < rows; i0 += kBlock)
    for (size_t j0 = 0; j0 < columns; j0 += kBlock)
      for (size_t j = j0; j < std::min(j0 + kBlock, columns); ++j)
        for (size_t i = i0; i < std::min(i0 + kBlock, rows); ++i)
          to[j * rows + i] = from[i * columns + j];
}

std::string_view GemmKind() { return HasAvx2() ? "avx2+fma" : "baseline"; }

}  // namespace muster::lab
