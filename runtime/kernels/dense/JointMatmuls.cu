// See JointMatmuls.h. T is [tokens, n] and W [n, wide], each concatenated from
// all parts.
//
//   - makeThin: pack W, compute T = alpha X W^T, and unpack T.
//   - makeWide: pack T and W, compute X = alpha T W.
//   - addToMatrices: pack T, compute S = T^T X in f32, and add alpha S to the
//     parts' matrices.

#include "runtime/kernels/dense/JointMatmuls.h"

#include "runtime/device/cuda/Matmuls.h"
#include "runtime/device/cuda/PackedOperands.h"
#include "runtime/kernels/common/CudaTypes.cuh"
#include "runtime/ops/DenseOps.h"

#include <cassert>
#include <cstddef>

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Matmuls;
using device::Tensor;

constexpr int threads = 256, mostParts = 3;

/// A copy of rows of 16-byte vectors.
struct Copy {
  const uint4* from;
  uint4* to;
  int64_t width, fromStride, toStride;
  int64_t first; // index of its first vector among those of all copies
};

struct Copies {
  Copy of[2 * mostParts];
  int count = 0;
  int64_t vectors = 0;

  void add(const void* from, void* to, int64_t rows, int64_t width,
           int64_t fromStride, int64_t toStride) {
    of[count++] = {static_cast<const uint4*>(from),
                   static_cast<uint4*>(to),
                   width,
                   fromStride,
                   toStride,
                   vectors};
    vectors += rows * width;
  }
};

__global__ void __launch_bounds__(threads)
    copyRows(const __grid_constant__ Copies copies) {
  const int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x;
  if (i >= copies.vectors)
    return;
  int number = 0;
#pragma unroll
  for (int k = 1; k < 2 * mostParts; ++k)
    number += k < copies.count && i >= copies.of[k].first;
  const Copy& copy = copies.of[number];
  const int64_t j = i - copy.first, row = j / copy.width,
                column = j % copy.width;
  copy.to[row * copy.toStride + column] =
      copy.from[row * copy.fromStride + column];
}

/// The gradients of the parts' matrices, [rows, wide] each.
template <class G> struct Gradients {
  G* data[mostParts];
  int64_t end[mostParts]; // end of each part among the elements of all
};

template <class G>
__global__ void __launch_bounds__(threads)
    addParts(const __grid_constant__ Gradients<G> gradients, int64_t count,
             float alpha, const float* sums) {
  const int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x;
  if (i >= count)
    return;
  const int part = (i >= gradients.end[0]) + (i >= gradients.end[1]);
  G* const to =
      gradients.data[part] + (i - (part > 0 ? gradients.end[part - 1] : 0));
  *to = rounded<G>(float(*to) + alpha * sums[i]);
}

unsigned blocksFor(int64_t count) {
  return unsigned(ceilDivide(count, threads));
}

/// The layout of the packed operands: offsets in bytes from the start of the
/// buffer.
struct Together {
  int64_t tokens, wide, columns = 0;
  int64_t matrices = 0, sums = 0, bytes = 0;

  Together(ThinKind kind, const SkinnyMatmuls& products)
      : tokens(products.tokens()), wide(products.wide()) {
    for (const SkinnyMatmuls::Part& part : products.parts)
      columns += products.widthOf(part);
    bytes = aligned(tokens * columns * int64_t(sizeof(bfloat16)));
    const bool isOfMatrices = kind == ThinKind::addToMatrices;
    (isOfMatrices ? sums : matrices) = bytes;
    bytes += aligned(columns * wide *
                     int64_t(isOfMatrices ? sizeof(float) : sizeof(bfloat16)));
  }

private:
  static int64_t aligned(int64_t bytes) { return ceilDivide(bytes, 256) * 256; }
};

/// The number of 16-byte vectors in this many bf16 elements.
int64_t vectorsIn(int64_t elements) {
  return elements / vectorLength<bfloat16>;
}

class Joint {
public:
  Joint(const CudaKernelArgs& args, ThinKind kind,
        const SkinnyMatmuls& products)
      : args(args), kind(kind), products(products), all(kind, products),
        thin(device::packedOperands(args.context)),
        matrices(thin + all.matrices), sums(thin + all.sums) {}

  Status run() const {
    RECIPERUN_TRY(bringTogether());
    const float alpha =
        float(ops::LinearJointAttributes(args.op.attributes).alpha);
    const bool isAdded = kind == ThinKind::addToMatrices;
    RECIPERUN_TRY(
        args.context.products().run(shape(), isAdded ? 1 : alpha, operands()));
    if (kind == ThinKind::makeThin)
      copyThin(false);
    if (isAdded)
      add(alpha);
    return device::launchStatus();
  }

  Status prepare() const {
    RECIPERUN_TRY(bringTogether());
    return args.context.products().prepare(shape(), operands());
  }

  Matmuls::Shape shape() const {
    Matmuls::Shape shape;
    switch (kind) {
    case ThinKind::makeThin:
      shape.m = all.tokens;
      shape.n = all.columns;
      shape.k = all.wide;
      shape.transposeB = true;
      break;
    case ThinKind::makeWide:
      shape.m = all.tokens;
      shape.n = all.wide;
      shape.k = all.columns;
      break;
    case ThinKind::addToMatrices:
      shape.m = all.columns;
      shape.n = all.wide;
      shape.k = all.tokens;
      shape.transposeA = true;
      shape.output = plan::DType::f32;
      break;
    }
    return shape;
  }

  Matmuls::Operands operands() const {
    switch (kind) {
    case ThinKind::makeThin:
      return {products.x.data, matrices, thin};
    case ThinKind::makeWide:
      return {thin, matrices, products.x.data};
    case ThinKind::addToMatrices:
      return {thin, products.x.data, sums};
    }
    assert(false && "an unknown kind of joint products");
    return {};
  }

private:
  Status bringTogether() const {
    if (kind != ThinKind::makeThin)
      copyThin(true);
    if (kind != ThinKind::addToMatrices)
      copyMatrices();
    return device::launchStatus();
  }

  /// Copies the parts' thin operands to their columns of T, or back.
  void copyThin(bool isTogether) const {
    Copies copies;
    int64_t column = 0;
    for (const SkinnyMatmuls::Part& part : products.parts) {
      const int64_t width = products.widthOf(part);
      void* const columns = thin + column * int64_t(sizeof(bfloat16));
      const int64_t own = vectorsIn(width), stride = vectorsIn(all.columns);
      if (isTogether)
        copies.add(part.thin.data, columns, all.tokens, own, own, stride);
      else
        copies.add(columns, part.thin.data, all.tokens, own, stride, own);
      column += width;
    }
    launch(copies);
  }

  void copyMatrices() const {
    Copies copies;
    std::byte* next = matrices;
    for (const SkinnyMatmuls::Part& part : products.parts) {
      const int64_t vectors = vectorsIn(part.matrix.elements());
      copies.add(part.matrix.data, next, 1, vectors, vectors, vectors);
      next += part.matrix.bytes();
    }
    launch(copies);
  }

  void launch(const Copies& copies) const {
    copyRows<<<blocksFor(copies.vectors), threads, 0, args.context.stream()>>>(
        copies);
  }

  void add(float alpha) const {
    withStoredType(products.parts[0].matrix.type, [&]<class G>(DeviceType<G>) {
      Gradients<G> gradients = {};
      int64_t count = 0;
      for (size_t i = 0; i < mostParts; ++i) {
        if (i < products.parts.size()) {
          gradients.data[i] = products.parts[i].matrix.as<G>();
          count += products.parts[i].matrix.elements();
        }
        gradients.end[i] = count;
      }
      addParts<<<blocksFor(count), threads, 0, args.context.stream()>>>(
          gradients, count, alpha, reinterpret_cast<const float*>(sums));
    });
  }

  const CudaKernelArgs& args;
  ThinKind kind;
  const SkinnyMatmuls& products;
  Together all;
  std::byte *thin, *matrices, *sums;
};

} // namespace

bool areJoint(ThinKind kind, const SkinnyMatmuls& products) {
  if (products.parts.size() < 2 || products.isAcross || products.base)
    return false;
  return Together(kind, products).bytes <= device::packedBytes;
}

Status runJoint(const CudaKernelArgs& args, ThinKind kind,
                const SkinnyMatmuls& products) {
  return Joint(args, kind, products).run();
}

Status prepareJoint(const CudaKernelArgs& args, ThinKind kind,
                    const SkinnyMatmuls& products) {
  return Joint(args, kind, products).prepare();
}

} // namespace reciperun::kernels
