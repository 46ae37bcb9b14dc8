// The arena: its size, its addresses, and failed allocations.

#include "runtime/memory/Arena.h"
#include "runtime/plan/Plan.h"

#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include <unistd.h>

namespace reciperun::memory {
namespace {

plan::Buffer buffer(int64_t offset, int64_t elements) {
  plan::Buffer result;
  result.shape = {elements};
  result.offset = offset;
  return result;
}

TEST(Arena, HasThePlansBytesZeroedAndAligned) {
  for (int64_t bytes :
       {int64_t(64), int64_t(4096 * 3 + 64), (int64_t(5) << 20) + 64}) {
    Expected<Arena> arena = Arena::allocate(bytes);
    ASSERT_TRUE(arena) << arena.message();
    EXPECT_EQ(arena->bytes(), bytes);
    EXPECT_EQ(
        reinterpret_cast<uintptr_t>(arena->base()) % plan::bufferAlignment, 0u);
    for (int64_t i = 0; i < bytes; ++i) {
      ASSERT_EQ(arena->base()[i], std::byte(0));
      arena->base()[i] = std::byte(1); // all of it can be written
    }
  }
}

TEST(ArenaDeathTest, NothingBehindItsLastPageCanBeTouched) {
  const int64_t page = sysconf(_SC_PAGESIZE);
  for (int64_t bytes : {int64_t(64), 3 * page, (int64_t(5) << 20) + 64}) {
    Expected<Arena> arena = Arena::allocate(bytes);
    ASSERT_TRUE(arena) << arena.message();
    volatile std::byte* behind =
        arena->base() + (bytes + page - 1) / page * page;
    EXPECT_DEATH(*behind = std::byte(1), "");
  }
}

TEST(Arena, OfNothingIsEmpty) {
  Expected<Arena> arena = Arena::allocate(0);
  ASSERT_TRUE(arena);
  EXPECT_EQ(arena->bytes(), 0);
}

TEST(Arena, MovesItsMemory) {
  Expected<Arena> first = Arena::allocate(128);
  ASSERT_TRUE(first);
  std::byte* base = first->base();
  Arena second = std::move(*first);
  EXPECT_EQ(second.base(), base);
  EXPECT_EQ(first->base(), nullptr);
}

TEST(Arena, AddressesFollowCopiesAndShards) {
  const plan::Mesh mesh{{{"dp", 2}, {"tp", 2}}, {}, 4};
  Expected<Arena> arena = Arena::allocate(4096);
  ASSERT_TRUE(arena);
  plan::Buffer plain = buffer(192, 4);
  EXPECT_EQ(arena->address(plain, 0, mesh, 3), arena->base() + 192);
  EXPECT_EQ(arena->address(plain, 512, mesh, 3), arena->base() + 192 + 512);
  plain.shardAxis = "dp";
  plain.shardStride = 64;
  EXPECT_EQ(arena->address(plain, 0, mesh, 1), arena->base() + 192);
  EXPECT_EQ(arena->address(plain, 0, mesh, 2), arena->base() + 192 + 64);
}

TEST(Arena, HasAnotherForBuffersOnTheHost) {
  const plan::Mesh mesh{{}, {}, 1};
  Expected<Arena> arena = Arena::allocate(128, 512);
  ASSERT_TRUE(arena);
  plan::Buffer there = buffer(256, 4);
  there.host = true;
  Arena moved = *std::move(arena);
  auto* address = static_cast<std::byte*>(moved.address(there, 16, mesh, 0));
  EXPECT_TRUE(address + 16 <= moved.base() ||
              address >= moved.base() + moved.bytes());
  EXPECT_EQ(reinterpret_cast<uintptr_t>(address) % plan::bufferAlignment, 16u);
  address[0] = std::byte(1);
}

TEST(Arena, FailureNamesTheBytes) {
  const int64_t tooMany = int64_t(1) << 60;
  Expected<Arena> arena = Arena::allocate(tooMany);
  ASSERT_FALSE(arena);
  EXPECT_NE(arena.message().find(std::to_string(tooMany) + " bytes"),
            std::string::npos);
}

} // namespace
} // namespace reciperun::memory
