// Rows of a table by token, and the sum of gradients back into the table.
//
// The table may be a rank's shard along an axis: row r is token r + rows *
// coordinate. Tokens of other ranks give zeros, so that the sum over the ranks
// is the whole.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/Kernels.h"
#include "runtime/kernels/Types.h"

#include <algorithm>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;
using plan::OpKind;

/// A table's rows on this rank, and tokens in that numbering.
struct Rows {
  const int32_t* tokens;
  int64_t count; // of tokens
  int64_t width; // of a row
  int64_t rows;  // on this rank
  int64_t first; // the token of row 0

  /// The row of token number `i`, -1 where another rank holds it.
  int64_t rowOf(int64_t i) const {
    const int64_t row = tokens[i] - first;
    return row >= 0 && row < rows ? row : -1;
  }
};

Rows rowsOf(const KernelArgs& args, const Tensor& tokens, const Tensor& values,
            const Tensor& table) {
  Rows rows;
  rows.tokens = tokens.as<int32_t>();
  rows.count = tokens.elements();
  rows.width = values.elements() / rows.count;
  rows.rows = table.elements() / rows.width;
  rows.first = rows.rows * args.coordinate(args.op.string("axis"));
  return rows;
}

template <class T>
void gather(const Rows& rows, const T* table, T* out, int threads) {
  constexpr int64_t grain = 16;
  device::parallelFor(
      threads, rows.count, grain, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i) {
          const int64_t row = rows.rowOf(i);
          T* to = out + i * rows.width;
          if (row < 0)
            std::fill_n(to, rows.width, T());
          else
            std::copy_n(table + row * rows.width, rows.width, to);
        }
      });
}

/// Threads share out the columns, so that a row gets its gradients in the order
/// of the tokens however many threads there are.
template <class T>
void scatterAdd(const Rows& rows, const T* dy, Math<T>* dtable, int threads) {
  constexpr int64_t grain = 64;
  device::parallelFor(threads, rows.width, grain,
                      [&](int64_t begin, int64_t end) {
                        for (int64_t i = 0; i < rows.count; ++i) {
                          const int64_t row = rows.rowOf(i);
                          if (row < 0)
                            continue;
                          const T* from = dy + i * rows.width;
                          Math<T>* to = dtable + row * rows.width;
#pragma omp simd
                          for (int64_t j = begin; j < end; ++j)
                            to[j] += Math<T>(from[j]);
                        }
                      });
}

} // namespace

template <> Status kernel<OpKind::Embedding>(const KernelArgs& args) {
  const Tensor& table = args.inputs[1];
  const Tensor& y = args.outputs[0];
  const Rows rows = rowsOf(args, args.inputs[0], y, table);
  return withType(args, y.type, [&]<class T>(Type<T>) {
    gather(rows, table.as<T>(), y.as<T>(), args.context.threads());
  });
}

template <> Status kernel<OpKind::EmbeddingBackward>(const KernelArgs& args) {
  const Tensor& dy = args.inputs[1];
  const Tensor& dtable = args.outputs[0];
  const Rows rows = rowsOf(args, args.inputs[0], dy, dtable);
  return withType(args, dy.type, [&]<class T>(Type<T>) {
    scatterAdd(rows, dy.as<T>(), dtable.as<Math<T>>(), args.context.threads());
  });
}

} // namespace reciperun::kernels
