// Matrix multiplication in single precision: the one kernel of the trainer, of the server, and of
// the measured peak that MFU is held against. One thread; the wide instructions of x86-64-v3 are
// used when the processor has them.
#pragma once

#include <cstddef>
#include <span>
#include <string_view>

namespace muster::lab {

// c (m x n) = a (m x k) * b (k x n), all row-major and dense. Results do not depend on the size of
// other matrices, so the same inputs give the same bits on the same processor.
void Gemm(size_t m, size_t n, size_t k, std::span<const float> a, std::span<const float> b,
          std::span<float> c);

// to (columns x rows) = transpose of from (rows x columns).
void Transpose(size_t rows, size_t columns, std::span<const float> from, std::span<float> to);

// Floating point operations of one Gemm: a multiply and an add for each of m*n*k.
inline double GemmFlops(size_t m, size_t n, size_t k) {
  return 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
}

// "avx2+fma" or "baseline": what the kernel runs on here.
std::string_view GemmKind();

}  // namespace muster::lab
