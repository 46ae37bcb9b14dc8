// The rows of experts, cut into pieces of a few heights for matmuls.
//
// Rows [groups, places, width] are blocks of equal size, one for each rank that
// sent rows. In a block the rows of the group's experts are consecutive;
// `counts` [groups, blocks, members] has their numbers. The rows after them
// belong to no token. A matmul primitive is compiled for a number of rows, so
// an expert's rows are cut into powers of two: first pieces of `tallest` rows,
// then the rest bit by bit.

#ifndef RECIPERUN_KERNELS_MOE_EXPERTPIECES_H
#define RECIPERUN_KERNELS_MOE_EXPERTPIECES_H

#include "runtime/device/KernelTable.h"

#include <algorithm>
#include <bit>

namespace reciperun::kernels {

class ExpertPieces {
public:
  /// `rows` is [groups, places, ...].
  ExpertPieces(const device::Tensor& rows, const device::Tensor& counts)
      : groups(counts.shape[0]), blocks(counts.shape[1]),
        members(counts.shape[2]), height(rows.shape[1] / blocks),
        counts(counts.as<int32_t>()) {}

  int64_t rows() const { return groups * blocks * height; }
  int64_t experts() const { return groups * members; }
  int64_t blocksOfGroup() const { return blocks; }

  struct Run {
    int64_t first, count;
  };

  /// The rows of an expert in a block of its group. They are clamped to the
  /// block, because counts come from a buffer.
  Run runOf(int64_t expert, int64_t block) const {
    const int64_t group = expert / members, member = expert % members;
    const int32_t* own = counts + (group * blocks + block) * members;
    int64_t before = 0;
    for (int64_t e = 0; e < member; ++e)
      before = std::min<int64_t>(height, before + std::max(0, own[e]));
    const int64_t count = std::clamp<int64_t>(own[member], 0, height - before);
    return {(group * blocks + block) * height + before, count};
  }

  /// Calls body(expert, first row, rows) -> Status for each piece, expert by
  /// expert.
  template <class Body> Status run(Body body) const {
    for (int64_t expert = 0; expert < experts(); ++expert)
      for (int64_t block = 0; block < blocks; ++block) {
        const Run run = runOf(expert, block);
        for (int64_t done = 0, taken = 0; done < run.count; done += taken) {
          taken = std::min(tallest,
                           int64_t(std::bit_floor(uint64_t(run.count - done))));
          Status status = body(expert, run.first + done, taken);
          if (!status.isOk())
            return status;
        }
      }
    return Status::ok();
  }

  /// Calls body(first row, rows) for the rows of each block that belong to no
  /// token.
  template <class Body> void unused(Body body) const {
    for (int64_t group = 0; group < groups; ++group)
      for (int64_t block = 0; block < blocks; ++block) {
        const Run last = runOf(group * members + members - 1, block);
        const int64_t end = (group * blocks + block + 1) * height;
        const int64_t from = last.first + last.count;
        if (from < end)
          body(from, end - from);
      }
  }

private:
  /// Enough rows for a matmul to be bound by arithmetic: each weight is read
  /// once and used this many times.
  static constexpr int64_t tallest = 64;

  int64_t groups, blocks, members;
  int64_t height; // rows of a block
  const int32_t* counts;
};

} // namespace reciperun::kernels

#endif // RECIPERUN_KERNELS_MOE_EXPERTPIECES_H
