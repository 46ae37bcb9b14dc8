// The pages of the cache: holders, keys, eviction.

#include "runtime/serve/engine/PagePool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>
#include <set>
#include <vector>

namespace reciperun::serve {
namespace {

Hash key(int32_t token) {
  return pageKey(Hash(), std::span(&token, 1));
}

TEST(PagePool, GivesEachPageOnce) {
  PagePool pool(3);
  EXPECT_EQ(pool.available(), 3);
  std::set<int32_t> pages = {pool.take(), pool.take(), pool.take()};
  EXPECT_EQ(pages, (std::set<int32_t>{0, 1, 2}));
  EXPECT_EQ(pool.available(), 0);
  EXPECT_EQ(pool.held(), 3);
  pool.release(1);
  EXPECT_EQ(pool.take(), 1);
}

TEST(PagePool, SharesAPageUntilItsLastHolderReleasesIt) {
  PagePool pool(2);
  const int32_t page = pool.take();
  pool.publish(page, key(7));
  EXPECT_EQ(pool.share(key(7)), page);
  EXPECT_EQ(pool.share(key(8)), std::nullopt);
  pool.release(page);
  EXPECT_EQ(pool.available(), 1);
  pool.release(page);
  EXPECT_EQ(pool.available(), 2);
  // It is cached now, and is found again.
  EXPECT_EQ(pool.share(key(7)), page);
  EXPECT_EQ(pool.available(), 1);
}

TEST(PagePool, EvictsThePageThatWasReleasedFirst) {
  PagePool pool(3);
  for (int32_t token : {0, 1, 2})
    pool.publish(pool.take(), key(token));
  for (int32_t page : {1, 0, 2})
    pool.release(page);
  EXPECT_EQ(pool.share(key(1)), 1); // is the last one again
  pool.release(1);
  EXPECT_EQ(pool.take(), 0);
  EXPECT_EQ(pool.evictions(), 1);
  EXPECT_EQ(pool.share(key(0)), std::nullopt);
  EXPECT_EQ(pool.take(), 2);
  EXPECT_EQ(pool.take(), 1);
  EXPECT_EQ(pool.available(), 0);
}

TEST(PagePool, PrefersFreePagesToCachedOnes) {
  PagePool pool(2);
  const int32_t first = pool.take(), second = pool.take();
  pool.publish(first, key(1));
  pool.release(first);
  pool.release(second);
  EXPECT_EQ(pool.take(), second);
  EXPECT_EQ(pool.evictions(), 0);
}

TEST(PagePool, KeepsTheFirstPageOfAKey) {
  PagePool pool(2);
  const int32_t first = pool.take(), second = pool.take();
  pool.publish(first, key(1));
  pool.publish(second, key(1));
  EXPECT_EQ(pool.share(key(1)), first);
  pool.release(second);
  EXPECT_EQ(pool.take(), second); // it was free, and not cached
}

TEST(PagePool, ForgetsAPageOfWrongContents) {
  PagePool pool(1);
  pool.publish(pool.take(), key(1));
  pool.forget(0);
  EXPECT_EQ(pool.share(key(1)), std::nullopt);
  pool.release(0);
  EXPECT_EQ(pool.take(), 0);
  EXPECT_EQ(pool.evictions(), 0);
}

TEST(PagePool, KeysDependOnAllTokensBefore) {
  const int32_t a[] = {1, 2}, b[] = {1, 3};
  const Hash first = pageKey(Hash(), a);
  EXPECT_EQ(first, pageKey(Hash(), a));
  EXPECT_NE(first, pageKey(Hash(), b));
  EXPECT_NE(pageKey(first, a), first);
  EXPECT_NE(pageKey(first, a), pageKey(pageKey(Hash(), b), a));
}

/// Random calls against a count of holders by page.
TEST(PagePool, CountsAsAPlainModelDoes) {
  std::mt19937 random(1);
  auto below = [&](size_t n) { return size_t(random() % n); };
  PagePool pool(8);
  std::vector<int32_t> held; // a page is in it once for each holder
  for (int i = 0; i < 20000; ++i) {
    const size_t call = below(4);
    if (call == 0 && pool.available() > 0) {
      const int32_t page = pool.take();
      EXPECT_EQ(std::count(held.begin(), held.end(), page), 0);
      held.push_back(page);
    } else if (call == 1 && !held.empty()) {
      pool.publish(held[below(held.size())], key(int32_t(below(12))));
    } else if (call == 2) {
      if (auto page = pool.share(key(int32_t(below(12)))))
        held.push_back(*page);
    } else if (call == 3 && !held.empty()) {
      const size_t at = below(held.size());
      pool.release(held[at]);
      held.erase(held.begin() + long(at));
    }
    ASSERT_EQ(pool.held(),
              int64_t(std::set<int32_t>(held.begin(), held.end()).size()));
  }
}

} // namespace
} // namespace reciperun::serve
