#include "runtime/storage/TaskPool.h"

#include <atomic>
#include <gtest/gtest.h>

namespace reciperun::storage {
namespace {

TEST(TaskPool, MakesEachCallOnce) {
  TaskPool pool(4);
  std::vector<std::atomic<int>> calls(1000);
  const Status status = inParallel(pool, calls.size(), [&](size_t i) {
    ++calls[i];
    return Status::ok();
  });
  EXPECT_TRUE(status.isOk());
  for (const auto& count : calls)
    EXPECT_EQ(count, 1);
  EXPECT_TRUE(inParallel(pool, 0, [](size_t) {
                return Status::error("called");
              }).isOk());
}

TEST(TaskPool, BeginsNoCallAfterAFailure) {
  TaskPool pool(2);
  std::atomic<int> calls = 0;
  std::atomic<bool> hasFailed = false;
  const Status status = inParallel(pool, 1000, [&](size_t i) {
    ++calls;
    if (i == 0) {
      hasFailed = true;
      return Status::error("first");
    }
    while (!hasFailed)
      std::this_thread::yield();
    return Status::ok();
  });
  EXPECT_EQ(status.message(), "first");
  EXPECT_LT(calls, 1000);
}

TEST(TaskPool, CallsWithinCallsEnd) {
  TaskPool pool(2);
  std::atomic<int> calls = 0;
  const Status status = inParallel(pool, 8, [&](size_t) {
    return inParallel(pool, 8, [&](size_t) {
      ++calls;
      return Status::ok();
    });
  });
  EXPECT_TRUE(status.isOk());
  EXPECT_EQ(calls, 64);
}

} // namespace
} // namespace reciperun::storage
