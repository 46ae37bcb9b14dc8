// Compares GPU collectives with host collectives on the ranks that mpirun
// starts, each with its own GPU. Skipped without GPUs.
//
// Every collective runs twice: by NCCL on GPU memory and by MPI on host memory.
// Moved data must have the same bits, and so must sums of two ranks. With more
// ranks, NCCL adds in another order and rounds bf16 at each addition, which
// differs by a few units in the last place of the largest partial sum.

#include "runtime/comm/MpiSession.h"
#include "runtime/comm/NcclCommunicator.h"
#include "runtime/comm/NcclLibrary.h"
#include "runtime/device/BFloat16.h"
#include "runtime/device/cuda/CudaDevice.h"
#include "runtime/ops/OpKind.h"
#include "runtime/plan/Mesh.h"
#include "runtime/sizes/ConnectionWidths.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <initializer_list>
#include <thread>

namespace reciperun::comm {
namespace {

using plan::DType;
using plan::OpKind;
using Shape = std::vector<int64_t>;
using Bytes = std::vector<std::byte>;

/// The MPI session of this process; set once by main.
MpiSession*& session() {
  static MpiSession* current = nullptr;
  return current;
}

/// The group's connections: in stream order, beside kernels, and by kernels.
void connect(plan::Plan& plan, int group, int width) {
  std::vector<std::string> axes;
  for (const std::string& axis : plan.mesh.groups[size_t(group)].axes)
    if (plan::axisSize(plan.mesh, axis) > 1)
      axes.push_back(axis);
  plan::GroupConnection connection;
  connection.axes = axes;
  connection.groups = {group};
  connection.width = width;
  std::vector<plan::GroupConnection>& all = plan.connections->groups;
  all.push_back(connection);
  connection.overlaps = true;
  connection.transport = plan::Transport::peerCopies;
  all.push_back(connection);
  connection.overlaps = false;
  connection.transport = plan::Transport::peerKernels;
  if (!axes.empty())
    all.push_back(connection);
}

/// Two axes, and a group for each op that needs one. The groups `tp` and of all
/// ranks have wide connections. One link in each direction connects the stages.
plan::Plan testPlan() {
  plan::Plan plan;
  const int ranks = session()->ranks(), stages = ranks > 1 ? 2 : 1;
  plan.mesh.axes = {{"pp", stages}, {"tp", ranks / stages}};
  plan.mesh.groups = {{"pp", {"pp"}}, {"tp", {"tp"}}, {"world", {"pp", "tp"}}};
  plan.mesh.ranks = ranks;
  plan.connections.emplace();
  plan.connections->ranksPerNode = ranks;
  plan.connections->packs = true;
  connect(plan, 2, sizes::unboundedBlocks); // the first is of all ranks
  connect(plan, 0, 2);
  connect(plan, 1, sizes::unboundedBlocks);
  for (int stage = 0; stages > 1 && stage < stages; ++stage)
    plan.connections->links.push_back(
        {stage, stage, 1 - stage, sizes::blocksOfLine(/*isNear=*/true)});
  return plan;
}

/// A tensor on the host and on the GPU with the same contents.
struct Pair {
  Bytes host;
  memory::Arena gpu;
};

double numberOf(DType type, const std::byte* at) {
  auto as = [&]<class T>(T value) {
    std::memcpy(static_cast<void*>(&value), at, sizeof value);
    return double(value);
  };
  switch (type) {
  case DType::f64:
    return as(double());
  case DType::f32:
    return as(float());
  case DType::bf16:
    return as(device::bf16());
  case DType::i64:
    return as(int64_t());
  default:
    return as(int32_t());
  }
}

class Nccl : public testing::Test {
protected:
  void SetUp() override {
    Expected<int> place = session()->placeOnHost();
    ASSERT_TRUE(place) << place.message();
    auto opened = device::CudaDevice::open(
        *place, [](OpKind) -> device::CudaKernel { return nullptr; });
    if (Status all = session()->agree(opened.status()); !all.isOk())
      GTEST_SKIP() << all.message();
    device = *std::move(opened);
    rank = session()->rank();
    tell("connects");
    plan = testPlan();
    auto host = session()->connect(plan.mesh);
    ASSERT_TRUE(host) << host.message();
    auto made =
        NcclCommunicator::make(plan, *std::move(host), device->context());
    ASSERT_TRUE(made) << made.message();
    nccl = *std::move(made);
  }

  int sizeOf(int group) const {
    return plan::groupSize(plan.mesh, plan.mesh.groups[size_t(group)]);
  }

  /// Values that depend on rank and element and whose sums round.
  Pair filled(DType type, int64_t elements) {
    Pair pair{Bytes(size_t(elements * plan::byteSize(type))), {}};
    for (int64_t i = 0; i < elements; ++i) {
      const double value =
          double((i * 7919 + rank * 104729) % 2003 - 1000) / 300;
      auto store = [&](auto number) {
        std::memcpy(pair.host.data() + i * int64_t(sizeof number), &number,
                    sizeof number);
      };
      if (type == DType::f64)
        store(value);
      else if (type == DType::f32)
        store(float(value));
      else if (type == DType::bf16)
        store(device::bf16(value));
      else if (type == DType::i64)
        store(int64_t(value * 300));
      else
        store(int32_t(value * 300));
    }
    // Smaller memory is part of an allocation that the process maps for others.
    constexpr int64_t least = int64_t(2) << 20;
    auto arena =
        device->allocate(std::max(least, int64_t(pair.host.size())), 0);
    EXPECT_TRUE(arena) << arena.message();
    pair.gpu = *std::move(arena);
    EXPECT_TRUE(device->upload(pair.gpu.base(), pair.host).isOk());
    return pair;
  }

  /// Lets ranks of the same host copy directly into this memory.
  void share(std::initializer_list<Pair*> pairs) {
    for (Pair* pair : pairs) {
      Expected<std::string> note =
          nccl->share(pair->gpu.base(), pair->gpu.bytes());
      ASSERT_TRUE(note) << note.message();
    }
  }

  Tensor onHost(Pair& pair, DType type, const Shape& shape) {
    return {pair.host.data(), type, shape};
  }
  static Tensor onGpu(Pair& pair, DType type, const Shape& shape) {
    return {pair.gpu.base(), type, shape};
  }

  void expectSame(Pair& pair, DType type, int64_t elements, double tolerance,
                  const std::string& what) {
    const int64_t size = plan::byteSize(type);
    Bytes found(size_t(elements * size));
    Status read = device->download(found, pair.gpu.base());
    ASSERT_TRUE(read.isOk()) << what << ": " << read.message();
    if (std::memcmp(found.data(), pair.host.data(), found.size()) == 0)
      return;
    for (int64_t i = 0; i < elements; ++i) {
      const std::byte *a = pair.host.data() + i * size,
                      *b = found.data() + i * size;
      const bool isSame =
          tolerance == 0
              ? std::memcmp(a, b, size_t(size)) == 0
              : std::abs(numberOf(type, a) - numberOf(type, b)) <= tolerance;
      ASSERT_TRUE(isSame) << what << ": element " << i << " of " << elements
                          << " on rank " << rank << ": " << numberOf(type, a)
                          << " by MPI, " << numberOf(type, b) << " by NCCL";
    }
  }

  /// For sums over the group of values up to 3.4.
  double toleranceOf(DType type, int group) const {
    const int ranks = sizeOf(group);
    if (ranks <= 2 || type == DType::i32 || type == DType::i64)
      return 0;
    const double largest = 3.4 * ranks;
    return largest * ranks *
           (type == DType::bf16  ? 0x1p-8
            : type == DType::f32 ? 0x1p-24
                                 : 0x1p-53);
  }

  /// With mapped memory, kernels with a barrier copy directly when parts are
  /// contiguous runs.
  void gatherAndScatter(DType type, int group, Shape part, int dim,
                        bool sharing, bool isMapped) {
    Shape whole = part;
    whole[size_t(dim)] *= sizeOf(group);
    const int64_t few = plan::elementCount(part),
                  all = plan::elementCount(whole);
    const std::string what = std::string(sharing ? "shared " : "") + "group " +
                             std::to_string(group) + " dim " +
                             std::to_string(dim) + " rows " +
                             std::to_string(part[0]) + " size " +
                             std::to_string(plan::byteSize(type));
    Pair in = filled(type, few), out = filled(type, all);
    Pair& source = sharing ? out : in;
    if (isMapped)
      share({&in, &out});
    ASSERT_TRUE(nccl->host()
                    .allGather(group, onHost(source, type, part),
                               onHost(out, type, whole), dim)
                    .isOk());
    Status status = nccl->allGather(group, onGpu(source, type, part),
                                    onGpu(out, type, whole), dim);
    ASSERT_TRUE(status.isOk()) << status.message();
    expectSame(out, type, all, 0, "all-gather, " + what);
    Pair terms = filled(type, all), sum = filled(type, few);
    Pair& target = sharing ? terms : sum;
    if (isMapped)
      share({&terms, &sum});
    ASSERT_TRUE(nccl->host()
                    .reduceScatter(group, onHost(terms, type, whole),
                                   onHost(target, type, part), dim)
                    .isOk());
    status = nccl->reduceScatter(group, onGpu(terms, type, whole),
                                 onGpu(target, type, part), dim);
    ASSERT_TRUE(status.isOk()) << status.message();
    expectSame(target, type, few, toleranceOf(type, group),
               "reduce-scatter, " + what);
  }

  /// Prints the current step, for the log of a run that hangs.
  void tell(const std::string& what) const {
    std::fprintf(stderr, "rank %d: %s\n", rank, what.c_str());
  }

  void testAllReduce();
  void testRooted();
  void testTransfers();
  void testGatherAndScatter();
  void testAllToAll();
  void testExchangeRows();
  void testBesideKernels();
  void testShift();
  void testSwap(int64_t elements);
  void testPipeline(int64_t elements);

  plan::Plan plan;
  std::unique_ptr<device::CudaDevice> device;
  std::unique_ptr<Communicator> nccl;
  int rank = 0;
};

void Nccl::testAllReduce() {
  tell("all-reduces");
  for (DType type :
       {DType::f64, DType::f32, DType::bf16, DType::i32, DType::i64})
    for (int group : {0, 1, 2})
      for (Reduction reduction : {Reduction::sum, Reduction::max}) {
        const Shape shape = {5003};
        Pair in = filled(type, 5003);
        Tensor host = onHost(in, type, shape), gpu = onGpu(in, type, shape);
        ASSERT_TRUE(
            nccl->host().allReduce(group, host, host, reduction).isOk());
        ASSERT_TRUE(nccl->allReduce(group, gpu, gpu, reduction).isOk());
        expectSame(in, type, 5003, toleranceOf(type, group), "all-reduce");
      }
}

void Nccl::testRooted() {
  tell("broadcasts and reduces");
  for (DType type : {DType::f32, DType::bf16, DType::i64})
    for (int group : {0, 1, 2})
      for (int root = 0; root < sizeOf(group); ++root) {
        const Shape shape = {5003};
        Pair in = filled(type, 5003);
        Tensor host = onHost(in, type, shape), gpu = onGpu(in, type, shape);
        ASSERT_TRUE(nccl->host().broadcast(group, host, host, root).isOk());
        ASSERT_TRUE(nccl->broadcast(group, gpu, gpu, root).isOk());
        expectSame(in, type, 5003, 0, "broadcast");
        ASSERT_TRUE(
            nccl->host().allReduce(group, host, host, Reduction::max).isOk());
        for (int each = 0; each < sizeOf(group); ++each)
          ASSERT_TRUE(
              nccl->reduce(group, gpu, gpu, Reduction::max, each).isOk());
        expectSame(in, type, 5003, 0, "reduce");
      }
}

void Nccl::testTransfers() {
  tell("transfers");
  const int64_t elements = 5003;
  const Shape shape = {elements};
  for (int group : {0, 1, 2}) {
    Pair out = filled(DType::f32, elements);
    std::vector<Pair> in;
    for (int64_t peer = 0; peer < sizeOf(group); ++peer)
      in.push_back(filled(DType::f32, elements));
    std::vector<Transfer> hostSends, hostReceives, sends, receives;
    for (int peer = 0; peer < int(in.size()); ++peer) {
      Pair& received = in[size_t(peer)];
      hostSends.push_back({peer, onHost(out, DType::f32, shape)});
      hostReceives.push_back({peer, onHost(received, DType::f32, shape)});
      sends.push_back({peer, onGpu(out, DType::f32, shape)});
      receives.push_back({peer, onGpu(received, DType::f32, shape)});
    }
    ASSERT_TRUE(nccl->host().transfer(group, hostSends, hostReceives).isOk());
    const Status status = nccl->transfer(group, sends, receives);
    ASSERT_TRUE(status.isOk()) << status.message();
    for (Pair& received : in)
      expectSame(received, DType::f32, elements, 0, "transfers");
  }
}

void Nccl::testGatherAndScatter() {
  tell("gathers and scatters");
  // Memory that was mapped once may be used again.
  for (bool isMapped : {false, true}) {
    for (DType type : {DType::f32, DType::bf16})
      for (int group : {0, 1, 2})
        for (bool sharing : {false, true})
          for (int dim : {0, 1, 2})
            for (int64_t rows : {1, 3, 40})
              gatherAndScatter(type, group, {rows, 6, 35 + rows % 2}, dim,
                               sharing, isMapped);
    // More data than the staging buffers hold at a time.
    for (bool sharing : {false, true})
      gatherAndScatter(DType::f32, 2, {300, 1, 30'000}, isMapped ? 0 : 1,
                       sharing, isMapped);
  }
}

void Nccl::testAllToAll() {
  tell("exchanges all to all");
  for (int group : {0, 1, 2})
    for (auto [split, concat] :
         {std::pair(0, 0), std::pair(2, 1), std::pair(1, 2), std::pair(0, 1)}) {
      const int64_t ranks = sizeOf(group);
      const Shape in = {4, 8, 12, 10};
      Shape out = in;
      out[size_t(split)] /= ranks;
      out[size_t(concat)] *= ranks;
      const int64_t elements = plan::elementCount(in);
      Pair from = filled(DType::bf16, elements),
           to = filled(DType::bf16, elements);
      share({&to});
      ASSERT_TRUE(nccl->host()
                      .allToAll(group, onHost(from, DType::bf16, in),
                                onHost(to, DType::bf16, out), {split, concat})
                      .isOk());
      Status status =
          nccl->allToAll(group, onGpu(from, DType::bf16, in),
                         onGpu(to, DType::bf16, out), {split, concat});
      ASSERT_TRUE(status.isOk()) << status.message();
      expectSame(to, DType::bf16, elements, 0,
                 "all-to-all from " + std::to_string(split) + " to " +
                     std::to_string(concat));
    }
}

/// Sends rows to the experts and back. Rows that belong to tokens arrive, and
/// the others keep their contents.
void Nccl::testExchangeRows() {
  tell("exchanges rows");
  for (int group : {0, 1, 2})
    for (int64_t width : {8, 9})
      for (bool isBack : {false, true}) {
        const int64_t ranks = sizeOf(group), blocks = 2, places = 50;
        const Shape here = {ranks, blocks * places, width},
                    there = {1, ranks * blocks * places, width};
        const Shape counted =
            isBack ? Shape{1, ranks * blocks, 3} : Shape{ranks, blocks, 3};
        const int64_t elements = plan::elementCount(here);
        Pair from = filled(DType::bf16, elements),
             to = filled(DType::bf16, elements),
             counts = filled(DType::i32, plan::elementCount(counted)),
             theirs = filled(DType::i32, plan::elementCount(counted));
        share({&to, &theirs});
        auto* const numbers = reinterpret_cast<int32_t*>(counts.host.data());
        for (int64_t i = 0; i < plan::elementCount(counted); ++i)
          numbers[i] = int32_t((rank * 5 + i * 7) % 17);
        ASSERT_TRUE(device->upload(counts.gpu.base(), counts.host).isOk());
        const ShardExchange exchange =
            isBack ? ShardExchange{1, 0} : ShardExchange{0, 1};
        const Bytes before = to.host;
        ASSERT_TRUE(
            nccl->host()
                .allToAll(
                    group, onHost(from, DType::bf16, isBack ? there : here),
                    onHost(to, DType::bf16, isBack ? here : there), exchange)
                .isOk());
        ASSERT_TRUE(
            nccl->host()
                .allToAll(
                    group, onHost(counts, DType::i32, {ranks * blocks, 3}),
                    onHost(theirs, DType::i32, {ranks * blocks, 3}), {0, 0})
                .isOk());
        const auto* sent = reinterpret_cast<int32_t*>(theirs.host.data());
        for (int64_t block = 0; ranks > 1 && block < ranks * blocks; ++block) {
          const int64_t used =
              sent[3 * block] + sent[3 * block + 1] + sent[3 * block + 2];
          const int64_t begin = (block * places + used) * width * 2,
                        end = (block + 1) * places * width * 2;
          std::copy(before.begin() + begin, before.begin() + end,
                    to.host.begin() + begin);
        }
        Status status = nccl->exchangeRows(
            group, onGpu(from, DType::bf16, isBack ? there : here),
            onGpu(counts, DType::i32, counted),
            onGpu(to, DType::bf16, isBack ? here : there), exchange);
        ASSERT_TRUE(status.isOk()) << status.message();
        expectSame(to, DType::bf16, elements, 0,
                   "rows of " + std::to_string(width) + " of group " +
                       std::to_string(group) + (isBack ? ", back" : ""));
      }
}

void Nccl::testBesideKernels() {
  tell("gathers beside kernels");
  for (int group : {0, 1, 2}) {
    const int64_t ranks = sizeOf(group), part = 5000;
    const Shape few = {part}, all = {part * ranks};
    Pair in = filled(DType::f32, part), out = filled(DType::f32, part * ranks);
    Pair terms = filled(DType::f32, part * ranks),
         sent = filled(DType::f32, part * ranks),
         swapped = filled(DType::f32, part * ranks),
         sum = filled(DType::f32, part);
    share({&out, &sent, &swapped});
    auto both = [&](Communicator& links, auto at) {
      Expected<int> gather = links.beginAllGather(
          group, at(in, DType::f32, few), at(out, DType::f32, all));
      Expected<int> exchange = links.beginExchange(
          group, at(terms, DType::f32, all), at(sent, DType::f32, all));
      ASSERT_TRUE(gather && exchange) << gather.message() << exchange.message();
      Expected<int> swap = links.beginAllToAll(
          group, at(terms, DType::f32, all), at(swapped, DType::f32, all));
      ASSERT_TRUE(swap) << swap.message();
      ASSERT_TRUE(links.finish(*swap).isOk());
      ASSERT_TRUE(links.finish(*exchange).isOk());
      ASSERT_TRUE(links
                      .addTerms(group, at(terms, DType::f32, all),
                                at(sent, DType::f32, all),
                                at(sum, DType::f32, few))
                      .isOk());
      ASSERT_TRUE(links.finish(*gather).isOk());
    };
    both(nccl->host(), [&](Pair& pair, DType type, const Shape& shape) {
      return onHost(pair, type, shape);
    });
    both(*nccl, [&](Pair& pair, DType type, const Shape& shape) {
      return onGpu(pair, type, shape);
    });
    expectSame(out, DType::f32, part * ranks, 0, "all-gather beside kernels");
    expectSame(sum, DType::f32, part, 0, "exchange beside kernels");
    expectSame(swapped, DType::f32, part * ranks, 0,
               "all-to-all beside kernels");
  }
}

void Nccl::testShift() {
  tell("shifts");
  for (int group : {0, 1, 2}) {
    const int64_t many = 70'001;
    const Shape all = {many}, few = {3};
    Pair out = filled(DType::bf16, many), in = filled(DType::bf16, many);
    Pair own = filled(DType::i32, 3), theirs = filled(DType::i32, 3);
    share({&in, &theirs});
    auto shift = [&](Communicator& links, auto at) {
      const Shift shifts[] = {
          {at(out, DType::bf16, all), at(in, DType::bf16, all)},
          {at(own, DType::i32, few), at(theirs, DType::i32, few)}};
      Expected<int> begun = links.beginShift(group, shifts);
      ASSERT_TRUE(begun) << begun.message();
      ASSERT_TRUE(links.finish(*begun).isOk());
    };
    shift(nccl->host(), [&](Pair& pair, DType type, const Shape& shape) {
      return onHost(pair, type, shape);
    });
    shift(*nccl, [&](Pair& pair, DType type, const Shape& shape) {
      return onGpu(pair, type, shape);
    });
    expectSame(in, DType::bf16, many, 0, "a shift of many elements");
    expectSame(theirs, DType::i32, 3, 0, "a shift of few elements");
  }
}

/// Both stages send before they receive.
void Nccl::testSwap(int64_t elements) {
  tell("swaps " + std::to_string(elements) + " elements");
  const int stage = plan::coordinate(plan.mesh, rank, "pp");
  const int peer = plan::rankInStage(plan.mesh, rank, 1 - stage);
  Pair out = filled(DType::f32, elements), in = filled(DType::f32, elements);
  auto swap = [&](Communicator& links, std::byte* from, std::byte* to) {
    const size_t bytes = size_t(elements) * 4;
    Expected<int> going = links.beginSend(peer, stage, {from, bytes});
    Expected<int> coming = links.beginReceive(peer, 1 - stage, {to, bytes});
    ASSERT_TRUE(going && coming) << going.message() << coming.message();
    ASSERT_TRUE(links.finish(*going).isOk());
    ASSERT_TRUE(links.finish(*coming).isOk());
  };
  swap(nccl->host(), out.host.data(), in.host.data());
  swap(*nccl, out.gpu.base(), in.gpu.base());
  expectSame(in, DType::f32, elements, 0, "messages between stages");
}

/// The first stage runs one message ahead of the second. The second has already
/// posted its receive when it sends the message that the first stage waits for.
void Nccl::testPipeline(int64_t elements) {
  tell("pipelines " + std::to_string(elements) + " elements");
  constexpr int rounds = 6;
  const int stage = plan::coordinate(plan.mesh, rank, "pp");
  const int peer = plan::rankInStage(plan.mesh, rank, 1 - stage);
  const int64_t half = elements * 4;
  Pair slots = filled(DType::f32, 2 * elements);
  auto first = [&](Communicator& links, std::byte* at) {
    std::vector<int> sent, received;
    auto begin = [&](int round) {
      std::span<std::byte> slot(at + round % 2 * half, size_t(half));
      Expected<int> going = links.beginSend(peer, 0, slot);
      ASSERT_TRUE(going) << going.message();
      sent.push_back(*going);
    };
    begin(0);
    for (int round = 0; round < rounds; ++round) {
      if (round + 1 < rounds)
        begin(round + 1);
      ASSERT_TRUE(links.finish(sent[size_t(round)]).isOk());
      std::span<std::byte> slot(at + round % 2 * half, size_t(half));
      Expected<int> coming = links.beginReceive(peer, 1, slot);
      ASSERT_TRUE(coming) << coming.message();
      ASSERT_TRUE(links.finish(*coming).isOk());
    }
  };
  auto second = [&](Communicator& links, std::byte* at) {
    auto begin = [&](int round) {
      std::span<std::byte> slot(at + round % 2 * half, size_t(half));
      Expected<int> coming = links.beginReceive(peer, 0, slot);
      EXPECT_TRUE(coming) << coming.message();
      return coming ? *coming : 0;
    };
    int coming = begin(0);
    for (int round = 0; round < rounds; ++round) {
      ASSERT_TRUE(links.finish(coming).isOk());
      if (round + 1 < rounds)
        coming = begin(round + 1);
      std::span<std::byte> slot(at + round % 2 * half, size_t(half));
      Expected<int> going = links.beginSend(peer, 1, slot);
      ASSERT_TRUE(going) << going.message();
      ASSERT_TRUE(links.finish(*going).isOk());
    }
  };
  auto both = [&](Communicator& links, std::byte* at) {
    stage == 0 ? first(links, at) : second(links, at);
  };
  both(nccl->host(), slots.host.data());
  both(*nccl, slots.gpu.base());
  expectSame(slots, DType::f32, 2 * elements, 0, "a pipeline's messages");
}

// A single test creates one set of communicators: each takes seconds.
TEST_F(Nccl, doesWhatMpiDoes) {
  testAllReduce();
  testRooted();
  testTransfers();
  testGatherAndScatter();
  testAllToAll();
  testExchangeRows();
  testBesideKernels();
  testShift();
  // A send of a large message waits for its receiver.
  if (session()->ranks() > 1)
    for (int64_t elements : {1000, 10'000'000}) {
      testSwap(elements);
      testPipeline(elements);
    }
  tell("is done");
  EXPECT_TRUE(nccl->check().isOk());
}

} // namespace
} // namespace reciperun::comm

int main(int argc, char** argv) {
  testing::InitGoogleTest(&argc, argv);
  reciperun::device::setEnvironment(
      reciperun::device::CudaDevice::environment());
  reciperun::device::setEnvironment(
      reciperun::comm::NcclLibrary::environment());
  auto session = reciperun::comm::MpiSession::start();
  if (!session)
    return 1;
  reciperun::comm::session() = &*session;
  return RUN_ALL_TESTS();
}
