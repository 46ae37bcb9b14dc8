// One token through the layers of a model as one kernel; see DecodeProgram.cuh.
//
// A block a multiprocessor: one warp copies the block's weights through a ring
// in shared memory, the others compute. Between phases they wait for all
// blocks, and the copies go on meanwhile.
//
// Nothing may be in local memory: shared memory leaves the L1 cache too little
// room for it, and an access takes as long as one to the L2 cache.

#ifndef RECIPERUN_KERNELS_DECODE_DECODEKERNEL_CUH
#define RECIPERUN_KERNELS_DECODE_DECODEKERNEL_CUH

#include "runtime/kernels/common/WarpgroupMatmuls.cuh"
#include "runtime/kernels/decode/DecodeAttention.cuh"
#include "runtime/kernels/decode/DecodeMatmul.cuh"

namespace reciperun::kernels::decode {

/// Phases in shared memory: the current one, and the next one, which a warp
/// loads meanwhile. The first read of an argument takes about a microsecond.
class PhaseFeed {
  static constexpr int words = int(sizeof(Phase) / sizeof(uint32_t));
  static constexpr int ofLane = (words + 31) / 32;

public:
  __device__ __forceinline__ PhaseFeed(const DecodeProgram& program,
                                       Phase (&room)[2])
      : program(program), room(room) {}

  __device__ __forceinline__ const Phase& operator[](int phase) const {
    return room[phase % 2];
  }

  /// Starts to load a phase.
  __device__ __forceinline__ void load(int phase) {
    const auto* const from =
        reinterpret_cast<const uint32_t*>(program.phases + phase);
#pragma unroll
    for (int i = 0; i < ofLane; ++i)
      if (hasWord(i) && phase < program.count)
        loaded[i] = from[word(i)];
  }
  __device__ __forceinline__ void store(int phase) {
    auto* const to = reinterpret_cast<uint32_t*>(room + phase % 2);
#pragma unroll
    for (int i = 0; i < ofLane; ++i)
      if (hasWord(i))
        to[word(i)] = loaded[i];
    __syncwarp();
  }

private:
  __device__ __forceinline__ static int word(int i) {
    return i * 32 + int(threadIdx.x) % 32;
  }
  __device__ __forceinline__ static bool hasWord(int i) {
    return word(i) < words;
  }

  const DecodeProgram& program;
  Phase (&room)[2];
  uint32_t loaded[ofLane] = {};
};

/// The block's shared memory.
struct DecodeRoom {
  Ring ring;
  Phase copied[2], computed[2];
  DecodeStep step;
  AttentionPart own;
  union {
    MatmulRoom matmuls;
    PartRoom<128> part;
    PartRoom<64> narrowPart;
  };
  float2 angles[cuda::Rotation::mostPairs / 4];
};

/// Copies all that the block reads once. Called by a warp.
__device__ __forceinline__ void copyAll(const DecodeProgram& program,
                                        const AttentionPart& own, int position,
                                        DecodeRoom& room) {
  uint64_t policy;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  RingPlace place(room.ring);
  PhaseFeed phases(program, room.copied);
  phases.load(0);
  phases.store(0);
  for (int i = 0; i < program.count; ++i) {
    phases.load(i + 1);
    if (phases[i].kind == Phase::Kind::matmuls)
      copyWeights(phases[i].matmuls, place, policy);
    else
      prefetchPositions(room.step.paged, phases[i].attention, own, position);
    phases.store(i + 1);
  }
}

/// Runs a phase of attention when the phases before it have ended.
template <int width>
__device__ __forceinline__ void
runAttention(const DecodeStep& step, const AttentionPhase& of,
             const AttentionPart& own, int number, int position, int slot,
             const PhaseCount& ended, const float2* angles,
             PartRoom<width>& room) {
  AttentionRun<width> run(step, of, own, position, slot, angles, room);
  ended.waitFor(number);
  run.run();
}

__global__ void __launch_bounds__(decodeThreads, 1)
    decodeToken(const __grid_constant__ DecodeProgram program) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL // others have no such instructions
  extern __shared__ __align__(128) uint8_t bytesOfRoom[];
  auto& room = *reinterpret_cast<DecodeRoom*>(bytesOfRoom);
  for (int i = int(threadIdx.x); i < int(sizeof(DecodeStep) / 4);
       i += decodeThreads)
    reinterpret_cast<uint32_t*>(&room.step)[i] =
        reinterpret_cast<const uint32_t*>(&program.step)[i];
  const int position = program.step.paged.tokens.positions[0];
  const cuda::Rotation& rotation = program.step.rotation;
  for (int i = int(threadIdx.x); i < rotation.half; i += decodeThreads)
    rotation.angleOf(i, float(position), room.angles[i].x, room.angles[i].y);
  if (threadIdx.x == 0) {
    room.own = AttentionPart(program.step.paged, position);
    for (int i = 0; i < slots; ++i) {
      room.ring.full[i].open();
      room.ring.free[i].open();
    }
    BulkBarrier::makeSeen();
  }
  __syncthreads();
  const DecodeStep& step = room.step;
  if (blockIdx.x == 0 && position >= 0) {
    step.paged.tokens.check(0);
    step.paged.check(step.paged.tokens.sequences[0], position);
  }
  const AttentionPart& own = room.own;
  if (threadIdx.x >= computingThreads) {
    cuda::giveRegisters<56>();
    if (threadIdx.x < computingThreads + 32)
      copyAll(program, own, position, room);
    return;
  }
  cuda::takeRegisters<224>();
  const int slot = own.slotOfLane(step.paged, position, own.firstOfWarp());
  const PhaseCount ended(step.counters->endedPhases, program.count);
  RingPlace place(room.ring);
  PhaseFeed phases(program, room.computed);
  const bool feeds = threadIdx.x < 32;
  if (feeds) {
    phases.load(0);
    phases.store(0);
  }
  meet();
  for (int i = 0; i < program.count; ++i) {
    const Phase& phase = phases[i];
    if (feeds)
      phases.load(i + 1);
    if (phase.kind == Phase::Kind::attention)
      if (step.paged.shape.width == 128)
        runAttention(step, phase.attention, own, i, position, slot, ended,
                     room.angles, room.part);
      else
        runAttention(step, phase.attention, own, i, position, slot, ended,
                     room.angles, room.narrowPart);
    else if (phase.matmuls.stored == Stored::bf16)
      place = runMatmuls<Stored::bf16>(phase.matmuls, i, ended, place,
                                       room.matmuls);
    else
      place =
          runMatmuls<Stored::fp8>(phase.matmuls, i, ended, place, room.matmuls);
    if (feeds)
      phases.store(i + 1);
    ended.end(i);
  }
#endif
}

} // namespace reciperun::kernels::decode

#endif // RECIPERUN_KERNELS_DECODE_DECODEKERNEL_CUH
