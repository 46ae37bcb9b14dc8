// Packing and adding on a GPU gives the same bits as on the host, for splits
// along every dimension, ranges that begin anywhere, and sizes that are no
// multiple of a vector. Kernels with a barrier between ranks meet themselves
// here, repeatedly. Skipped when there is no GPU.

#include "runtime/comm/CudaShards.h"

#include "runtime/comm/Reduce.h"
#include "runtime/device/BFloat16.h"
#include "runtime/device/cuda/CudaDevice.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

namespace reciperun::comm {
namespace {

using Bytes = std::vector<std::byte>;

Bytes countedBytes(size_t count) {
  Bytes bytes(count);
  for (size_t i = 0; i < count; ++i)
    bytes[i] = std::byte(i * 2654435761u >> 13);
  return bytes;
}

class CudaParts : public testing::Test {
protected:
  static void SetUpTestSuite() {
    device::setEnvironment(device::CudaDevice::environment());
  }
  void SetUp() override {
    auto opened = device::CudaDevice::open(
        0, [](plan::OpKind) -> device::CudaKernel { return nullptr; });
    if (!opened)
      GTEST_SKIP() << opened.message();
    gpu = *std::move(opened);
    openPlace();
  }
  void TearDown() override {
    if (word)
      expectDone();
    cudaFreeHost(word);
  }

  /// Copies to the GPU; the arena owns the copy.
  memory::Arena onGpu(const Bytes& bytes) {
    auto arena = gpu->allocate(int64_t(bytes.size()), 0);
    EXPECT_TRUE(arena) << arena.message();
    EXPECT_TRUE(gpu->upload(arena->base(), bytes).isOk());
    return *std::move(arena);
  }
  Bytes onHost(const memory::Arena& arena) {
    Bytes bytes(size_t(arena.bytes()));
    Status status = gpu->download(bytes, arena.base());
    EXPECT_TRUE(status.isOk()) << status.message();
    return bytes;
  }

  void pack(const Blocks& blocks, int64_t begin, int64_t end) {
    const size_t whole =
        size_t(blocks.shardElements() * blocks.parts * blocks.elementBytes);
    const int64_t one = (end - begin) * blocks.elementBytes;
    const Bytes given = countedBytes(whole);
    Bytes packed(size_t(one * blocks.parts)), unpacked(whole);
    for (int part = 0; part < blocks.parts; ++part)
      blocks.pack(given.data(), part, begin, end, packed.data() + part * one);
    for (int part = 0; part < blocks.parts; ++part)
      blocks.unpack(packed.data() + part * one, part, begin, end,
                    unpacked.data());
    memory::Arena source = onGpu(given), there = onGpu(Bytes(packed.size()));
    memory::Arena back = onGpu(Bytes(whole));
    cudaStream_t stream = gpu->context().stream();
    ASSERT_TRUE(
        packShards(blocks, source.base(), begin, end, there.base(), stream)
            .isOk());
    EXPECT_EQ(onHost(there), packed) << "rows " << blocks.rows << " block "
                                     << blocks.block << " from " << begin;
    ASSERT_TRUE(
        unpackShards(blocks, there.base(), begin, end, back.base(), stream)
            .isOk());
    EXPECT_EQ(onHost(back), unpacked) << "rows " << blocks.rows << " block "
                                      << blocks.block << " from " << begin;
  }

  void add(plan::DType type, const Bytes& terms, int count) {
    const int64_t elements =
        int64_t(terms.size()) / count / plan::byteSize(type);
    Bytes sum(size_t(elements * plan::byteSize(type)));
    reduceInRankOrder(type, Reduction::sum, terms.data(), int64_t(sum.size()),
                      count, elements, sum.data());
    memory::Arena source = onGpu(terms), there = onGpu(Bytes(sum.size()));
    auto add = [&](const Terms& given) {
      ASSERT_TRUE(addTermsInOrder(type, given, elements, there.base(),
                                  gpu->context().stream())
                      .isOk());
      EXPECT_EQ(onHost(there), sum) << count << " terms of " << elements
                                    << ", number " << given.place << " apart";
    };
    add({source.base(), count});
    for (int place = 0; place < count; ++place) {
      Bytes rest = terms;
      const auto begin = rest.begin() + ptrdiff_t(place * sum.size());
      const Bytes own(begin, begin + ptrdiff_t(sum.size()));
      std::fill(begin, begin + ptrdiff_t(sum.size()), std::byte(0x55));
      memory::Arena others = onGpu(rest);
      there = onGpu(own);
      add({others.base(), count, place, there.base()});
    }
    addPlaces(type, source, count, elements, sum);
  }

  /// Adds the same terms at their given addresses.
  void addPlaces(plan::DType type, const memory::Arena& terms, int count,
                 int64_t elements, const Bytes& sum) {
    PeerAddresses places;
    for (int term = 0; term < count; ++term)
      places.of[term] = terms.base() + term * int64_t(sum.size());
    memory::Arena there = onGpu(Bytes(sum.size()));
    ASSERT_TRUE(addPeersInOrder(type, places, count, elements, there.base(),
                                barrier(), gpu->context().stream())
                    .isOk());
    EXPECT_EQ(onHost(there), sum) << count << " places of " << elements;
  }

  /// Three parts of two blocks; the destinations are slices of one buffer,
  /// `apart` bytes apart.
  void spread(int64_t rowBytes, int64_t rows,
              const std::vector<int32_t>& counts, int64_t apart) {
    constexpr int ranks = 3, blocks = 2, members = 2;
    const int64_t bytes = rows * rowBytes, part = blocks * bytes;
    const Bytes given = countedBytes(size_t(ranks * part));
    Bytes expected(size_t(ranks * (part + apart)), std::byte(0x55));
    memory::Arena in = onGpu(given), out = onGpu(expected), numbers;
    PeerAddresses places;
    for (int rank = 0; rank < ranks; ++rank)
      places.of[rank] = out.base() + rank * (part + apart);
    CountedRows counted;
    if (!counts.empty()) {
      Bytes raw(counts.size() * sizeof(int32_t));
      std::memcpy(raw.data(), counts.data(), raw.size());
      numbers = onGpu(raw);
      counted = {reinterpret_cast<const int32_t*>(numbers.base()), members,
                 rowBytes};
    }
    for (int block = 0; block < ranks * blocks; ++block) {
      int64_t used = bytes;
      if (!counts.empty()) {
        const int64_t sum = int64_t(counts[size_t(block * members)]) +
                            counts[size_t(block * members + 1)];
        used = std::clamp<int64_t>(sum, 0, rows) * rowBytes;
      }
      std::copy_n(given.begin() + block * bytes, used,
                  expected.begin() + block / blocks * (part + apart) +
                      block % blocks * bytes);
    }
    ASSERT_TRUE(spreadBlocks(in.base(), places, ranks, blocks, bytes, counted,
                             barrier(), gpu->context().stream())
                    .isOk());
    EXPECT_EQ(onHost(out), expected)
        << rows << " rows of " << rowBytes << " bytes";
  }

  /// Copies the same bytes to three destinations, `apart` bytes apart.
  void spreadToAll(int64_t bytes, int64_t apart) {
    constexpr int ranks = 3;
    const Bytes given = countedBytes(size_t(bytes));
    Bytes expected(size_t(ranks * (bytes + apart)), std::byte(0x55));
    memory::Arena in = onGpu(given), out = onGpu(expected);
    PeerAddresses places;
    for (int rank = 0; rank < ranks; ++rank) {
      const int64_t begin = rank * (bytes + apart);
      places.of[rank] = out.base() + begin;
      std::copy(given.begin(), given.end(), expected.begin() + begin);
    }
    ASSERT_TRUE(spreadWhole(in.base(), places, ranks, bytes, barrier(),
                            gpu->context().stream())
                    .isOk());
    EXPECT_EQ(onHost(out), expected) << bytes << " bytes, " << apart;
  }

  /// Opens a barrier group with this rank only.
  void openPlace() {
    constexpr size_t flags = PeerBarrierState::flagKinds * sizeof(uint32_t);
    Bytes raw(sizeof(PeerBarrierState) + flags);
    place = onGpu(raw);
    PeerBarrierState alone;
    alone.ranks = 1;
    alone.heard[0] = alone.told[0] =
        reinterpret_cast<uint32_t*>(place.base() + sizeof alone);
    std::memcpy(raw.data(), &alone, sizeof alone);
    ASSERT_TRUE(gpu->upload(place.base(), raw).isOk());
    void* taken = nullptr;
    ASSERT_EQ(cudaHostAlloc(&taken, sizeof *word, cudaHostAllocMapped),
              cudaSuccess);
    word = new (taken) uint32_t(0);
  }
  PeerBarrier barrier() {
    return {reinterpret_cast<PeerBarrierState*>(place.base()),
            {word, ++barriers}};
  }
  /// Checks that a kernel leaves the barrier ready for the next one.
  void expectDone() {
    PeerBarrierState left;
    std::memcpy(&left, onHost(place).data(), sizeof left);
    EXPECT_EQ(left.times, barriers);
    EXPECT_EQ(left.blocks, 0u);
    EXPECT_EQ(*word, barriers);
  }

  std::unique_ptr<device::CudaDevice> gpu;
  memory::Arena place;
  uint32_t* word = nullptr; // the host's address
  uint32_t barriers = 0;
};

TEST_F(CudaParts, writesTheSameToAllPlaces) {
  for (int64_t bytes : {1, 16, 4099, 5 << 20})
    for (int64_t apart : {0, 16, 1})
      spreadToAll(bytes, apart);
}

TEST_F(CudaParts, writesBlocksToTheirPlaces) {
  for (int64_t rows : {1, 40, 5000})
    for (int64_t rowBytes : {16, 6, 4096}) {
      spread(rowBytes, rows, {}, 32);
      spread(rowBytes, rows, {}, 7);
    }
}

TEST_F(CudaParts, writesRowsThatBelongToTokens) {
  for (int64_t rowBytes : {16, 18, 4096})
    for (int64_t apart : {0, 16, 1}) {
      spread(rowBytes, 40, {0, 0, 1, 0, 0, 40, 20, 20, 17, 6, 39, 0}, apart);
      // Counts that are negative or exceed the block write nothing outside it.
      spread(rowBytes, 40, {41, 0, -3, 1, 7, 90, 1, 1, 0, 0, 2, 2}, apart);
    }
}

TEST_F(CudaParts, packsEveryDimension) {
  const std::vector<int64_t> shape = {3, 5, 8, 7};
  for (int64_t size : {2, 4, 8})
    for (int dim = 0; dim < 4; ++dim)
      for (int parts : {1, 2, 3}) {
        const Blocks blocks = Blocks::of(shape, dim, parts, size);
        const int64_t elements = blocks.shardElements();
        pack(blocks, 0, elements);
        pack(blocks, 1, elements - 3);
        pack(blocks, elements / 2, elements / 2 + 1);
      }
}

TEST_F(CudaParts, packsWideRows) {
  for (int64_t block : {64, 72, 1000})
    pack(Blocks{257, block, 4, 2}, 0, 257 * block);
  pack(Blocks{100, 4096, 2, 2}, 64 * 4096, 100 * 4096);
}

TEST_F(CudaParts, addsInOrder) {
  for (int64_t elements : {1, 7, 4096, 100'003})
    for (int count : {1, 2, 3, 8}) {
      std::vector<float> wide(size_t(elements * count));
      std::vector<device::bf16> narrow(wide.size());
      for (size_t i = 0; i < wide.size(); ++i) {
        wide[i] = float(int(i * 7919 % 2003) - 1000) / 300.0f;
        narrow[i] = device::bf16(wide[i]);
      }
      Bytes bytes(wide.size() * sizeof(float));
      std::memcpy(bytes.data(), wide.data(), bytes.size());
      add(plan::DType::f32, bytes, count);
      bytes.resize(narrow.size() * sizeof(device::bf16));
      std::memcpy(bytes.data(), narrow.data(), bytes.size());
      add(plan::DType::bf16, bytes, count);
    }
}

} // namespace
} // namespace reciperun::comm
