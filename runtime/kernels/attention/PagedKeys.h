// The sizes of attention over pages, and the pages themselves: checks, writes
// of a step's new keys and values, and reads of a block of positions.

#ifndef RECIPERUN_KERNELS_ATTENTION_PAGEDKEYS_H
#define RECIPERUN_KERNELS_ATTENTION_PAGEDKEYS_H

#include "runtime/base/Status.h"
#include "runtime/device/cpu/CpuContext.h"
#include "runtime/device/cpu/Parallel.h"
#include "runtime/kernels/attention/AttentionTiles.h"
#include "runtime/kernels/attention/HeadRotation.h"
#include "runtime/kernels/attention/PageRows.h"
#include "runtime/kernels/common/StepRuns.h"
#include "runtime/kernels/common/Types.h"

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <optional>
#include <type_traits>
#include <vector>

namespace reciperun::kernels {

/// The sizes of `attention_paged`, and what its tokens see.
struct PagedSizes {
  int64_t tokens, heads, keyHeads, width;
  double scale, softcap; // softcap 0: none
  AttentionMask mask;

  explicit PagedSizes(const device::KernelArgs& args);

  /// The query heads that share a key head.
  int64_t group() const { return heads / keyHeads; }

  /// The first position that the token at a position sees.
  int64_t firstSeen(int64_t position) const {
    int64_t first = 0;
    if (mask.window)
      first = std::max(first, position + 1 - mask.window);
    if (mask.chunk)
      first = std::max(first, position / mask.chunk * mask.chunk);
    return first;
  }
};

/// Fails when a position lies outside of the page table, or has no page or one
/// outside of the cache although a token of the step sees it.
Status checkPages(const device::KernelArgs& args,
                  const std::vector<StepRun>& runs);

/// Some positions of a key head of a sequence.
struct PagedBlock {
  int64_t sequence, keyHead;
  int64_t first, count;
  int64_t hidden; // positions at the start that no query sees
};

/// The keys and values in the pages of an `attention_paged`, in T or in 8 bits.
template <class T> class PagedKeys {
  using M = Math<T>;

public:
  explicit PagedKeys(const device::KernelArgs& args)
      : table(args.inputs[5].as<int32_t>()),
        perSequence(args.inputs[5].shape[1]), page(args.outputs[1].shape[1]),
        keyHeads(args.outputs[1].shape[2]), width(args.outputs[1].shape[3]),
        type(args.outputs[1].type), k(sideOf(args, 1)), v(sideOf(args, 2)) {}

  /// Writes the step's keys and values into their pages. With `rope`, it
  /// rotates the keys first, and the queries into the output.
  void write(const device::KernelArgs& args,
             const std::vector<StepRun>& runs) const {
    for (const StepRun& run : runs)
      device::parallelFor(
          args.context.threads(), run.count, 16,
          [&](int64_t begin, int64_t end) { writeRun(args, run, begin, end); });
  }

  /// Copies a block's keys to [count, keyStride] and its values to [count,
  /// valueStride], zeros after the width. Hidden positions become zeros and
  /// need no page.
  void load(const PagedBlock& block, M* keys, int64_t keyStride, M* values,
            int64_t valueStride) const {
    for (int64_t i = 0; i < block.count; ++i) {
      M *key = keys + i * keyStride, *value = values + i * valueStride;
      std::fill(value + width, value + valueStride, M(0));
      if (i < block.hidden) {
        std::fill_n(key, width, M(0));
        std::fill_n(value, width, M(0));
        continue;
      }
      const int64_t row =
          slot(block.sequence, block.first + i) * keyHeads + block.keyHead;
      widen(k, row, key);
      widen(v, row, value);
    }
  }

private:
  /// Writes the tokens [begin, end) of a run.
  void writeRun(const device::KernelArgs& args, const StepRun& run,
                int64_t begin, int64_t end) const {
    const int64_t keyRow = keyHeads * width, heads = args.inputs[0].shape[2];
    std::optional<HeadRotation<T>> rotation;
    if (ops::AttentionPagedAttributes(args.op.attributes).rope)
      rotation.emplace(args.op, width);
    std::vector<T> rotated(static_cast<size_t>(keyRow));
    for (int64_t i = begin; i < end; ++i) {
      const int64_t token = run.begin + i, position = run.position + i;
      const int64_t to = slot(run.sequence, position) * keyHeads;
      const T* key = args.inputs[1].as<T>() + token * keyRow;
      if (rotation) {
        const int64_t query = token * heads * width;
        rotation->setPosition(int32_t(position));
        rotation->turn(heads, args.inputs[0].as<T>() + query,
                       args.outputs[0].as<T>() + query);
        rotation->turn(keyHeads, key, rotated.data());
        key = rotated.data();
      }
      store(key, k, to);
      store(args.inputs[2].as<T>() + token * keyRow, v, to);
    }
  }

  /// The rows of the keys or of the values, [pages, page, keyHeads, width].
  struct Side {
    void* rows;
    float* scales; // of rows in 8 bits
  };

  /// Row `i` of a side.
  template <class P> P* rowOf(const Side& side, int64_t i) const {
    return static_cast<P*>(side.rows) + i * width;
  }

  static Side sideOf(const device::KernelArgs& args, size_t output) {
    const bool isScaled = plan::byteSize(args.outputs[output].type) == 1;
    return {args.outputs[output].data,
            isScaled ? args.outputs[output + 2].as<float>() : nullptr};
  }

  /// The index of a position in the pages.
  int64_t slot(int64_t sequence, int64_t position) const {
    return table[sequence * perSequence + position / page] * page +
           position % page;
  }

  /// Calls body(Type<P>()) for the type of the pages.
  template <class Body> void withPages(Body body) const {
    if (type == plan::DType::f8e4m3)
      return body(Type<device::f8e4m3>());
    if (type == plan::DType::i8)
      return body(Type<int8_t>());
    assert(type == dtypeOf<T>() && "the plan's types have been checked");
    body(Type<T>());
  }

  /// Writes a token's rows, of all key heads, from row `to` on.
  void store(const T* from, const Side& side, int64_t to) const {
    withPages([&]<class P>(Type<P>) {
      if constexpr (std::is_same_v<P, T>)
        std::copy_n(from, keyHeads * width, rowOf<P>(side, to));
      else
        for (int64_t i = 0; i < keyHeads; ++i)
          side.scales[to + i] =
              storeRow(from + i * width, width, rowOf<P>(side, to + i));
    });
  }

  void widen(const Side& side, int64_t row, M* to) const {
    withPages([&]<class P>(Type<P>) {
      const P* const from = rowOf<P>(side, row);
      if constexpr (std::is_same_v<P, T>) {
#pragma omp simd
        for (int64_t d = 0; d < width; ++d)
          to[d] = M(from[d]);
      } else {
        const M scale = M(side.scales[row]);
#pragma omp simd
        for (int64_t d = 0; d < width; ++d)
          to[d] = M(valueOf(from[d])) * scale;
      }
    });
  }

  const int32_t* table;
  const int64_t perSequence, page, keyHeads, width;
  const plan::DType type;
  const Side k, v;
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_ATTENTION_PAGEDKEYS_H
