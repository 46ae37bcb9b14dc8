// Packs the rows that a rank received, in blocks, into one block, and unpacks
// them, on a GPU; see PackRows.cpp.
//
//   1. One thread block computes the offsets of the runs (a run is the rows of
//      an expert in a block), expert by expert and within an expert block by
//      block.
//   2. One thread block per run stores the source index of each row.
//   3. Rows are copied from their sources; rows without a source are zeros.

#include "runtime/kernels/common/CudaKernels.h"
#include "runtime/kernels/common/RowCopies.cuh"
#include "runtime/kernels/common/Scratch.cuh"
#include "runtime/ops/ExpertOps.h"

namespace reciperun::kernels {
namespace {

using device::CudaKernelArgs;
using device::Tensor;

constexpr int lanes = 32, threads = 1024, noteThreads = 128;

/// The mapping between rows x [groups, blocks * height, width] of several
/// blocks and y [groups, places, width] of one.
struct Packing {
  int groups, blocks, members;
  int64_t height, begin, places; // rows of a group from `begin` on are taken
  const int32_t* counts;         // [groups, blocks, members]

  Packing(const CudaKernelArgs& args, const Tensor& x, const Tensor& y)
      : groups(int(args.inputs[1].shape[0])),
        blocks(int(args.inputs[1].shape[1])),
        members(int(args.inputs[1].shape[2])), height(x.shape[1] / blocks),
        begin(ops::PackRowsAttributes(args.op.attributes).begin),
        places(y.shape[1]), counts(args.inputs[1].as<int32_t>()) {}

  __host__ __device__ int runsOfGroup() const { return members * blocks; }
  __host__ __device__ int runs() const { return groups * runsOfGroup(); }
  /// The place in y of a row of a group that has `row` rows before it, clamped
  /// to [0, places].
  __device__ int64_t placeOf(int64_t row) const {
    return min(max(row - begin, int64_t(0)), places);
  }
};

/// Rows that are consecutive in x, after `before` other rows of the group.
struct Run {
  int64_t x;
  int64_t before;
  int32_t count;
};

/// The rows of a member of a group in a block. They are clamped to the block,
/// because counts come from a buffer.
__device__ Run runOf(const Packing& packing, int group, int member, int block) {
  const int64_t number = int64_t(group) * packing.blocks + block;
  const int32_t* own = packing.counts + number * packing.members;
  int64_t before = 0;
  for (int e = 0; e < member; ++e)
    before = min(packing.height, before + max(0, own[e]));
  const int64_t count =
      min(int64_t(max(0, own[member])), packing.height - before);
  return {number * packing.height + before, 0, int32_t(count)};
}

/// The inclusive prefix sum of `value` over the threads of the block.
__device__ int64_t sumUpTo(int64_t value, int64_t (&room)[lanes]) {
  const int lane = int(threadIdx.x) % lanes, warp = int(threadIdx.x) / lanes;
  for (int step = 1; step < lanes; step *= 2) {
    const int64_t other = __shfl_up_sync(~0u, value, unsigned(step));
    value += lane >= step ? other : 0;
  }
  if (lane == lanes - 1)
    room[warp] = value;
  __syncthreads();
  for (int w = 0; w < warp; ++w)
    value += room[w];
  __syncthreads();
  return value;
}

/// Step 1. `runs` are [groups, members, blocks].
__global__ void __launch_bounds__(threads)
    layRuns(Packing packing, Run* runs, int32_t* counts, double* overflow) {
  __shared__ int64_t room[lanes];
  __shared__ int64_t last;
  int64_t all = 0, lost = 0;
  for (int group = 0; group < packing.groups; ++group) {
    Run* own = runs + int64_t(group) * packing.runsOfGroup();
    int64_t used = 0;
    for (int base = 0; base < packing.runsOfGroup(); base += threads) {
      const int i = base + int(threadIdx.x);
      Run run = {};
      if (i < packing.runsOfGroup())
        run = runOf(packing, group, i / packing.blocks, i % packing.blocks);
      const int64_t upTo = used + sumUpTo(run.count, room);
      run.before = upTo - run.count;
      if (i < packing.runsOfGroup())
        own[i] = run;
      if (threadIdx.x == threads - 1)
        last = upTo;
      __syncthreads();
      used = last;
      __syncthreads();
    }
    all += used;
    lost += max(int64_t(0), used - packing.begin - packing.places);
    for (int e = int(threadIdx.x); counts && e < packing.members;
         e += threads) {
      const Run& final = own[(e + 1) * packing.blocks - 1];
      const int64_t begin = own[e * packing.blocks].before;
      const int64_t end = final.before + final.count;
      counts[group * packing.members + e] =
          int32_t(packing.placeOf(end) - packing.placeOf(begin));
    }
  }
  if (threadIdx.x == 0 && overflow) {
    overflow[0] += double(all);
    overflow[1] += double(lost);
  }
}

/// Step 2: stores the row of x for each row of y, or the reverse.
__global__ void __launch_bounds__(noteThreads)
    noteRows(Packing packing, const Run* runs, bool isPacked,
             int32_t* sources) {
  const Run run = runs[blockIdx.x];
  const int group = int(blockIdx.x) / packing.runsOfGroup();
  const int64_t skipped = max(packing.begin - run.before, int64_t(0));
  const int64_t first = packing.placeOf(run.before);
  const int64_t count = packing.placeOf(run.before + run.count) - first;
  for (int64_t i = threadIdx.x; i < count; i += noteThreads) {
    const int64_t x = run.x + skipped + i;
    const int64_t y = group * packing.places + first + i;
    sources[isPacked ? y : x] = int32_t(isPacked ? x : y);
  }
}

/// Reads each row from its stored source.
struct NotedRows {
  const int32_t* sources; // -1: no source, the row is 0
  const std::byte* from;
  int64_t bytes; // of a row

  __device__ const std::byte* operator()(int64_t row) const {
    const int32_t source = sources[row];
    return source < 0 ? nullptr : from + source * bytes;
  }
  int64_t alignment() const {
    return int64_t(reinterpret_cast<uintptr_t>(from)) | bytes;
  }
};

/// Copies rows of `from` to rows of `to`; one of the two is packed.
Status moveRows(const CudaKernelArgs& args, const Packing& packing,
                const Tensor& from, const Tensor& to, bool isPacked,
                int32_t* counts, double* overflow) {
  const int64_t rows = to.shape[0] * to.shape[1];
  const int64_t bytes = to.shape[2] * plan::byteSize(to.type);
  const cudaStream_t stream = args.context.stream();
  Scratch scratch(args.context);
  auto* runs = scratch.take<Run>(packing.runs());
  auto* sources = scratch.take<int32_t>(rows);
  if (scratch.leftBytes() < 0)
    return Status::error("it has " + std::to_string(rows) +
                         " rows, which are more than the scratch of a GPU "
                         "numbers; make micro-batches smaller");
  RECIPERUN_CUDA_TRY(cudaMemsetAsync, sources, 0xff,
                     size_t(rows) * sizeof(int32_t), stream);
  layRuns<<<1, threads, 0, stream>>>(packing, runs, counts, overflow);
  noteRows<<<unsigned(packing.runs()), noteThreads, 0, stream>>>(
      packing, runs, isPacked, sources);
  return copyRows(args, {to.as<std::byte>(), rows, bytes, bytes, 0, bytes},
                  NotedRows{sources, from.as<std::byte>(), bytes});
}

} // namespace

Status packRowsCudaKernel(const CudaKernelArgs& args) {
  const Tensor &x = args.inputs[0], &y = args.outputs[0];
  return moveRows(args, Packing(args, x, y), x, y, true,
                  args.outputs[1].as<int32_t>(), args.outputs[2].as<double>());
}

Status unpackRowsCudaKernel(const CudaKernelArgs& args) {
  const Tensor &y = args.inputs[0], &x = args.outputs[0];
  return moveRows(args, Packing(args, x, y), y, x, false, nullptr, nullptr);
}

} // namespace reciperun::kernels
