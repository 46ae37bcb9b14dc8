// The places of adapters.

#include "runtime/serve/engine/AdapterPool.h"

#include <gtest/gtest.h>

namespace reciperun::serve {
namespace {

using Loads = std::vector<AdapterLoad>;

TEST(AdapterPool, LoadsAnAdapterOnceAndKeepsIt) {
  AdapterPool pool(2);
  const AdapterId adapter = pool.add();
  EXPECT_EQ(pool.placeOf(adapter), -1);
  EXPECT_TRUE(pool.acquire(adapter));
  EXPECT_EQ(pool.takeLoads(), (Loads{{adapter, 0}}));
  pool.release(adapter);
  EXPECT_TRUE(pool.acquire(adapter));
  EXPECT_EQ(pool.takeLoads(), Loads());
  EXPECT_EQ(pool.placeOf(adapter), 0);
}

TEST(AdapterPool, TakesThePlaceThatWasUsedLeastRecently) {
  AdapterPool pool(2);
  const AdapterId first = pool.add(), second = pool.add(), third = pool.add();
  for (AdapterId each : {first, second, first}) {
    EXPECT_TRUE(pool.acquire(each));
    pool.release(each);
  }
  pool.takeLoads();
  EXPECT_TRUE(pool.acquire(third));
  EXPECT_EQ(pool.takeLoads(), (Loads{{third, 1}}));
  EXPECT_EQ(pool.placeOf(second), -1);
  EXPECT_EQ(pool.placeOf(first), 0);
}

TEST(AdapterPool, TakesNoPlaceThatIsInUse) {
  AdapterPool pool(1);
  const AdapterId first = pool.add(), second = pool.add();
  EXPECT_TRUE(pool.acquire(first));
  EXPECT_FALSE(pool.acquire(second));
  pool.release(first);
  EXPECT_TRUE(pool.acquire(second));
  EXPECT_EQ(pool.takeLoads(), (Loads{{second, 0}})) << "the first never ran";
}

TEST(AdapterPool, RemovesAnAdapterWithItsLastRequest) {
  AdapterPool pool(1);
  const AdapterId adapter = pool.add();
  pool.beginRequest(adapter);
  EXPECT_TRUE(pool.acquire(adapter));
  pool.remove(adapter);
  EXPECT_TRUE(pool.takeRemoved().empty());
  pool.release(adapter);
  pool.endRequest(adapter);
  EXPECT_EQ(pool.takeRemoved(), std::vector<AdapterId>{adapter});
  EXPECT_NE(pool.add(), adapter) << "ids are never used again";
}

TEST(AdapterPool, NeedsNoPlaceWithoutAnAdapter) {
  AdapterPool pool(0);
  EXPECT_TRUE(pool.acquire(noAdapter));
  pool.release(noAdapter);
  EXPECT_EQ(pool.placeOf(noAdapter), -1);
}

} // namespace
} // namespace reciperun::serve
