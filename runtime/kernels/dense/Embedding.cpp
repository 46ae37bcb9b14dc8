// Table lookups by token, and the accumulation of gradients into the table.
//
// The table may be a rank's shard along an axis: row r is token r + rows *
// coordinate. Tokens of other ranks give zeros, so the sum over the ranks is
// the complete result.

#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/common/Kernels.h"
#include "runtime/kernels/common/Types.h"
#include "runtime/kernels/dense/EmbeddingRows.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace reciperun::kernels {
namespace {

using device::KernelArgs;
using device::Tensor;

template <class T>
void gather(const EmbeddingRows& rows, const T* table, T* out, int threads) {
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

/// Sorts the tokens whose row is on this rank by row. Tokens of one row keep
/// their order.
void sortByRow(const EmbeddingRows& rows, std::vector<int32_t>& order) {
  order.clear();
  for (int64_t i = 0; i < rows.count; ++i)
    if (rows.rowOf(i) >= 0)
      order.push_back(int32_t(i));
  std::sort(order.begin(), order.end(), [&](int32_t a, int32_t b) {
    return std::pair(rows.tokens[a], a) < std::pair(rows.tokens[b], b);
  });
}

/// Each thread owns columns, so a row accumulates its gradients in the order of
/// the tokens, whatever the number of threads. A row is summed in Math<T> and
/// stored once, which avoids repeated rounding if the table has a narrower
/// type.
template <class T, class G>
void scatterAdd(const EmbeddingRows& rows, const T* dy, G* dtable,
                int threads) {
  using M = Math<T>;
  constexpr int64_t grain = 64;
  std::vector<int32_t> order;
  sortByRow(rows, order);
  device::parallelFor(
      threads, rows.width, grain, [&](int64_t begin, int64_t end) {
        for (int64_t left = begin; left < end; left += grain) {
          const int64_t width = std::min(grain, end - left);
          for (size_t next = 0; next < order.size();) {
            const int32_t token = rows.tokens[order[next]];
            G* to = dtable + rows.rowOf(order[next]) * rows.width + left;
            M sum[grain];
            for (int64_t j = 0; j < width; ++j)
              sum[j] = M(to[j]);
            for (; next < order.size() && rows.tokens[order[next]] == token;
                 ++next) {
              const T* from = dy + order[next] * rows.width + left;
#pragma omp simd
              for (int64_t j = 0; j < width; ++j)
                sum[j] += M(from[j]);
            }
            for (int64_t j = 0; j < width; ++j)
              to[j] = G(sum[j]);
          }
        }
      });
}

} // namespace

Status embeddingKernel(const KernelArgs& args) {
  const Tensor& table = args.inputs[1];
  const Tensor& y = args.outputs[0];
  const EmbeddingRows rows = EmbeddingRows::of(args, args.inputs[0], y, table);
  return withType(args, y.type, [&]<class T>(Type<T>) {
    gather(rows, table.as<T>(), y.as<T>(), args.context.threads());
  });
}

Status embeddingBackwardKernel(const KernelArgs& args) {
  const Tensor& dy = args.inputs[1];
  const Tensor& dtable = args.outputs[0];
  const EmbeddingRows rows =
      EmbeddingRows::of(args, args.inputs[0], dy, dtable);
  return withType(args, dy.type, [&]<class T>(Type<T>) {
    withStored<Math<T>>(dtable.type, [&]<class G>(Type<G>) {
      scatterAdd(rows, dy.as<T>(), dtable.as<G>(), args.context.threads());
    });
  });
}

} // namespace reciperun::kernels
