// Matmuls: our own loops for few rows, oneDNN's matmul with its primitives
// cached by shape for others, and a blocked loop for f64.
//
// 1. Run few rows by NarrowMatmul.cpp. Otherwise look up the shape's primitive.
//    For a new shape, describe A, B and C by strides and create the primitive,
//    with a scratch buffer that we own.
// 2. Grow the shared scratch to the size that the primitive asks for.
// 3. Run the primitive on the caller's pointers. oneDNN has no bf16 matmul for
//    processors without AVX-512; there bf16 operands are copied to f32. Results
//    stay the same: the product of two bf16 values is exact in f32, and oneDNN
//    accumulates in f32 in any case.

#include "runtime/device/cpu/Gemm.h"

#include "runtime/device/BFloat16.h"
#include "runtime/device/cpu/AlignedBuffer.h"
#include "runtime/device/cpu/NarrowMatmul.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/device/cpu/TileMatmul.h"

#include <algorithm>
#include <cassert>
#include <map>
#include <string>

#include <oneapi/dnnl/dnnl.hpp>

namespace reciperun::device {

/// A matmul primitive and the layouts of its operands.
struct GemmMatmul {
  dnnl::memory::desc a, b, c, scratch;
  dnnl::matmul matmul;
};

namespace {

using plan::DType;

dnnl::memory::data_type libraryType(DType type) {
  assert((type == DType::f32 || type == DType::bf16) && "no matmul of a type");
  return type == DType::f32 ? dnnl::memory::data_type::f32
                            : dnnl::memory::data_type::bf16;
}

dnnl::memory::desc describe(int64_t rows, int64_t columns, bool transposed,
                            DType type) {
  dnnl::memory::dims strides =
      transposed ? dnnl::memory::dims{1, rows} : dnnl::memory::dims{columns, 1};
  return {{rows, columns}, libraryType(type), strides};
}

std::string describe(const Gemm::Shape& shape) {
  return "a matrix product of " + std::to_string(shape.m) + " x " +
         std::to_string(shape.k) + " by " + std::to_string(shape.k) + " x " +
         std::to_string(shape.n);
}

GemmMatmul makeMatmul(const Gemm::Shape& shape, const dnnl::engine& engine) {
  GemmMatmul product;
  product.a = describe(shape.m, shape.k, shape.transposeA, shape.input);
  product.b = describe(shape.k, shape.n, shape.transposeB, shape.input);
  product.c = describe(shape.m, shape.n, false, shape.output);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (shape.alpha != 1)
    attributes.set_output_scales(0, {shape.alpha});
  if (shape.accumulate) {
    dnnl::post_ops sum;
    sum.append_sum(1.0f);
    attributes.set_post_ops(sum);
  }
  dnnl::matmul::primitive_desc made(
      dnnl::matmul::desc(product.a, product.b, product.c), attributes, engine);
  product.scratch = made.scratchpad_desc();
  product.matmul = dnnl::matmul(made);
  return product;
}

/// The f64 matmul, in tiles of C divided among the threads. A thread copies a
/// panel of B so that its rows are contiguous.
void multiplyDouble(const Gemm::Shape& shape, const double* a, const double* b,
                    double* c, int threads) {
  constexpr int64_t rows = 48, columns = 32, depth = 64;
  const int64_t aRow = shape.transposeA ? 1 : shape.k;
  const int64_t aColumn = shape.transposeA ? shape.m : 1;
  const int64_t bRow = shape.transposeB ? 1 : shape.n;
  const int64_t bColumn = shape.transposeB ? shape.k : 1;
  const int64_t tilesDown = (shape.m + rows - 1) / rows;
  const int64_t tilesAcross = (shape.n + columns - 1) / columns;
  parallelFor(
      threads, tilesDown * tilesAcross, 1, [&](int64_t begin, int64_t end) {
        for (int64_t tile = begin; tile < end; ++tile) {
          const int64_t i0 = tile / tilesAcross * rows;
          const int64_t j0 = tile % tilesAcross * columns;
          const int64_t height = std::min(rows, shape.m - i0);
          const int64_t width = std::min(columns, shape.n - j0);
          alignas(64) double sum[rows * columns] = {};
          alignas(64) double panel[depth * columns] = {};
          for (int64_t k0 = 0; k0 < shape.k; k0 += depth) {
            const int64_t deep = std::min(depth, shape.k - k0);
            for (int64_t k = 0; k < deep; ++k)
              for (int64_t j = 0; j < width; ++j)
                panel[k * columns + j] =
                    b[(k0 + k) * bRow + (j0 + j) * bColumn];
            tileMatmul(
                height, columns, deep,
                Strided<double>{a + i0 * aRow + k0 * aColumn, aRow, aColumn},
                panel, columns, sum, columns);
          }
          for (int64_t i = 0; i < height; ++i)
            for (int64_t j = 0; j < width; ++j) {
              double& element = c[(i0 + i) * shape.n + j0 + j];
              const double value = double(shape.alpha) * sum[i * columns + j];
              element = shape.accumulate ? element + value : value;
            }
        }
      });
}

/// oneDNN supports bf16 matmuls only on processors with AVX-512 (developer
/// guide, "Data Types", CPU).
bool multipliesBf16() {
  static const bool known = [] {
    switch (dnnl::get_effective_cpu_isa()) {
    case dnnl::cpu_isa::avx512_core:
    case dnnl::cpu_isa::avx512_core_vnni:
    case dnnl::cpu_isa::avx512_core_bf16:
    case dnnl::cpu_isa::avx512_core_amx:
      return true;
    default:
      return false;
    }
  }();
  return known;
}

constexpr int64_t copyGrain = 4096;

/// Converts bf16 values to f32. `room` holds the result.
const float* widen(const void* numbers, int64_t count, AlignedBuffer& room,
                   int threads) {
  const auto* from = static_cast<const bf16*>(numbers);
  auto* to = static_cast<float*>(room.reserve(size_t(count) * sizeof(float)));
  parallelFor(threads, count, copyGrain, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      to[i] = float(from[i]);
  });
  return to;
}

} // namespace

struct Gemm::Library {
  dnnl::engine engine{dnnl::engine::kind::cpu, 0};
  dnnl::stream stream{engine};
  std::map<Shape, GemmMatmul> products;
  AlignedBuffer scratch;
  AlignedBuffer wideA, wideB, wideC; // f32 copies of bf16 operands
  AlignedBuffer packed;              // A of narrowMatmul
  size_t scratchBytes = 0;

  const GemmMatmul& find(const Shape& shape) {
    auto known = products.find(shape);
    if (known == products.end())
      known = products.emplace(shape, makeMatmul(shape, engine)).first;
    return known->second;
  }

  /// A bf16 matmul through f32 copies.
  void runWide(Shape shape, const void* a, const void* b, void* c,
               int threads) {
    const bool isNarrow = shape.output == DType::bf16;
    const int64_t elements = shape.m * shape.n;
    shape.input = shape.output = DType::f32;
    const float* left = widen(a, shape.m * shape.k, wideA, threads);
    const float* right = widen(b, shape.k * shape.n, wideB, threads);
    if (!isNarrow)
      return run(find(shape), left, right, c);
    auto* sum =
        static_cast<float*>(wideC.reserve(size_t(elements) * sizeof(float)));
    if (shape.accumulate)
      widen(c, elements, wideC, threads);
    run(find(shape), left, right, sum);
    auto* out = static_cast<bf16*>(c);
    parallelFor(threads, elements, copyGrain, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        out[i] = bf16(sum[i]);
    });
  }

  void run(const GemmMatmul& product, const void* a, const void* b, void* c) {
    scratchBytes = std::max(scratchBytes, product.scratch.get_size());
    auto view = [&](const dnnl::memory::desc& desc, const void* data) {
      return dnnl::memory(desc, engine, const_cast<void*>(data));
    };
    product.matmul.execute(
        stream, {{DNNL_ARG_SRC, view(product.a, a)},
                 {DNNL_ARG_WEIGHTS, view(product.b, b)},
                 {DNNL_ARG_DST, view(product.c, c)},
                 {DNNL_ARG_SCRATCHPAD,
                  view(product.scratch, scratch.reserve(scratchBytes))}});
    stream.wait();
  }
};

Gemm::Gemm(int threads)
    : library(std::make_unique<Library>()), threads(threads) {}
Gemm::~Gemm() = default;
Gemm::Gemm(Gemm&&) noexcept = default;
Gemm& Gemm::operator=(Gemm&&) noexcept = default;

Status Gemm::run(const Shape& shape, const void* a, const void* b, void* c) {
  if (shape.m == 0 || shape.n == 0)
    return Status::ok();
  if (shape.input == DType::f64) {
    assert(shape.output == DType::f64 && "an f64 product has f64 results");
    multiplyDouble(shape, static_cast<const double*>(a),
                   static_cast<const double*>(b), static_cast<double*>(c),
                   threads);
    return Status::ok();
  }
  if (isNarrow(shape)) {
    narrowMatmul(shape, a, b, c, library->packed, threads);
    return Status::ok();
  }
  // oneDNN fixes a primitive's thread count when it creates the primitive, and
  // reads the calling thread's OpenMP setting then and at each run.
  useThreads(threads);
  try {
    if (shape.input == DType::bf16 && !multipliesBf16())
      library->runWide(shape, a, b, c, threads);
    else
      library->run(library->find(shape), a, b, c);
  } catch (const dnnl::error& failure) {
    return Status::error(std::string("oneDNN refused ") + describe(shape) +
                         ": " + failure.what());
  }
  return Status::ok();
}

size_t Gemm::scratchBytes() const {
  return library->scratchBytes;
}

} // namespace reciperun::device
