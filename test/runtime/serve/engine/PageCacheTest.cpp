// Pages of the host that keep what leaves the cache of the device.

#include "runtime/serve/engine/PageCache.h"

#include <gtest/gtest.h>

#include <vector>

namespace reciperun::serve {
namespace {

Hash keyOf(int32_t token) {
  return pageKey(Hash(), std::span(&token, 1));
}

/// Puts a page with this key into the cache, and releases it.
int32_t add(PageCache& cache, int32_t token) {
  const int32_t page = cache.take();
  cache.publish(page, keyOf(token));
  cache.release(page);
  return page;
}

TEST(PageCache, KeepsAnEvictedPageOnTheHost) {
  PageCache cache(2, 2);
  const int32_t first = add(cache, 0);
  add(cache, 1);
  EXPECT_TRUE(cache.takeCopies().empty());
  EXPECT_EQ(cache.take(), first);
  EXPECT_EQ(cache.share(keyOf(0)), std::nullopt);
  const std::optional<int32_t> hostPage = cache.shareOnHost(keyOf(0));
  ASSERT_TRUE(hostPage);
  EXPECT_EQ(cache.takeCopies(),
            (std::vector<PageCopy>{{first, *hostPage, /*isToHost=*/true}}));
  EXPECT_TRUE(cache.takeCopies().empty());
}

TEST(PageCache, SavesThePagesThatAreEvictedNext) {
  PageCache cache(3, 3);
  const int32_t first = add(cache, 0), second = add(cache, 1);
  EXPECT_TRUE(cache.saveAhead(1).empty()) << "a page is free";
  EXPECT_EQ(cache.saveAhead(2),
            (std::vector<PageCopy>{{first, 0, /*isToHost=*/true}}));
  EXPECT_EQ(cache.saveAhead(3),
            (std::vector<PageCopy>{{second, 1, /*isToHost=*/true}}));
  for (int32_t token : {2, 3, 4}) // the last two evict 0 and 1
    add(cache, token);
  EXPECT_TRUE(cache.takeCopies().empty());
  EXPECT_TRUE(cache.shareOnHost(keyOf(0)));
  EXPECT_TRUE(cache.shareOnHost(keyOf(1)));
}

TEST(PageCache, SavesNoMorePagesThanTheHostHas) {
  PageCache cache(3, 1);
  for (int32_t token : {0, 1, 2})
    add(cache, token);
  EXPECT_EQ(cache.saveAhead(3).size(), 1u);
  EXPECT_TRUE(cache.saveAhead(3).empty());
}

TEST(PageCache, CopiesAPageBackAfterWhatItsPlaceHeldIsKept) {
  PageCache cache(1, 2);
  add(cache, 0);
  add(cache, 1); // evicts 0
  const std::optional<int32_t> hostPage = cache.shareOnHost(keyOf(0));
  ASSERT_TRUE(hostPage);
  const int32_t page = cache.take(); // evicts 1
  cache.restore(*hostPage, page, keyOf(0));
  cache.releaseOnHost(*hostPage);
  EXPECT_EQ(cache.share(keyOf(0)), page);
  const std::vector<PageCopy> copies = cache.takeCopies();
  ASSERT_EQ(copies.size(), 3u);
  EXPECT_EQ(copies[0], (PageCopy{page, *hostPage, true}));
  EXPECT_EQ(copies[1], (PageCopy{page, 1 - *hostPage, true}));
  EXPECT_EQ(copies[2], (PageCopy{page, *hostPage, false}));
}

TEST(PageCache, DoesNotCopyWhatTheHostHas) {
  PageCache cache(1, 2);
  add(cache, 0);
  add(cache, 1);
  const std::optional<int32_t> hostPage = cache.shareOnHost(keyOf(0));
  ASSERT_TRUE(hostPage);
  const int32_t page = cache.take();
  cache.restore(*hostPage, page, keyOf(0));
  cache.releaseOnHost(*hostPage);
  cache.release(page);
  cache.takeCopies();
  add(cache, 2); // evicts 0 again
  EXPECT_TRUE(cache.takeCopies().empty());
}

TEST(PageCache, OverwritesThePageOfTheHostThatWasUsedLeastRecently) {
  PageCache cache(1, 2);
  for (int32_t token : {0, 1, 2}) // 0 and 1 are on the host
    add(cache, token);
  const std::optional<int32_t> used = cache.shareOnHost(keyOf(0));
  ASSERT_TRUE(used);
  cache.releaseOnHost(*used);
  add(cache, 3); // evicts 2, in place of 1
  EXPECT_EQ(cache.shareOnHost(keyOf(1)), std::nullopt);
  EXPECT_EQ(cache.shareOnHost(keyOf(0)), used);
}

TEST(PageCache, DoesNotOverwriteHeldPagesOfTheHost) {
  PageCache cache(1, 1);
  add(cache, 0);
  add(cache, 1); // 0 is on the host
  const std::optional<int32_t> held = cache.shareOnHost(keyOf(0));
  ASSERT_TRUE(held);
  add(cache, 2);
  EXPECT_EQ(cache.shareOnHost(keyOf(1)), std::nullopt);
  EXPECT_EQ(cache.shareOnHost(keyOf(0)), held);
}

TEST(PageCache, ForgetsAPageAlsoOnTheHost) {
  PageCache cache(1, 2);
  add(cache, 0);
  add(cache, 1); // 0 is on the host
  const std::optional<int32_t> hostPage = cache.shareOnHost(keyOf(0));
  ASSERT_TRUE(hostPage);
  const int32_t page = cache.take();
  cache.restore(*hostPage, page, keyOf(0));
  cache.releaseOnHost(*hostPage);
  cache.forget(page);
  EXPECT_EQ(cache.share(keyOf(0)), std::nullopt);
  EXPECT_EQ(cache.shareOnHost(keyOf(0)), std::nullopt);
  cache.release(page);
  EXPECT_EQ(cache.pagesOfHost().held(), 0);
}

TEST(PageCache, KeepsNothingWithoutPagesOfTheHost) {
  PageCache cache(1, 0);
  add(cache, 0);
  add(cache, 1);
  EXPECT_EQ(cache.shareOnHost(keyOf(0)), std::nullopt);
  EXPECT_TRUE(cache.takeCopies().empty());
}

} // namespace
} // namespace reciperun::serve
