// Which requests a queue puts together, and when.

#include "runtime/server/schedule/RequestQueue.h"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace reciperun::server {
namespace {

using std::chrono::microseconds;

const Time start = Time() + std::chrono::seconds(1);

WaitingRequest requestOf(int64_t elements, Time arrival = start,
                         uint64_t priority = 0, int64_t width = 16) {
  InferRequest request;
  request.priority = priority;
  request.id = std::to_string(elements);
  request.inputs.push_back({.name = "INPUT0",
                            .type = DataType::int32,
                            .shape = {elements, width},
                            .data = {}});
  return {.inference = std::make_shared<Inference>(std::move(request),
                                                   [](InferResponse) {}),
          .elements = elements,
          .arrival = arrival};
}

BatchSettings dynamicSettings() {
  BatchSettings settings;
  settings.mostInBatch = 8;
  settings.isDynamic = true;
  return settings;
}

std::vector<int64_t> sizesOf(const Batch& batch) {
  std::vector<int64_t> sizes;
  for (const WaitingRequest& each : batch)
    sizes.push_back(each.elements);
  return sizes;
}

using Sizes = std::vector<int64_t>;

TEST(RequestQueue, WithoutDynamicBatchingRequestsAreAlone) {
  BatchSettings settings;
  settings.mostInBatch = 8;
  RequestQueue queue(settings);
  ASSERT_TRUE(queue.push(requestOf(1)).isOk());
  ASSERT_TRUE(queue.push(requestOf(2)).isOk());
  EXPECT_EQ(sizesOf(queue.takeBatch(start)), Sizes({1}));
  EXPECT_EQ(sizesOf(queue.takeBatch(start)), Sizes({2}));
  EXPECT_EQ(queue.size(), 0u);
}

TEST(RequestQueue, ABatchTakesWhatFits) {
  RequestQueue queue(dynamicSettings());
  for (const int64_t elements : {3, 4, 2})
    ASSERT_TRUE(queue.push(requestOf(elements)).isOk());
  EXPECT_EQ(sizesOf(queue.takeBatch(start)), Sizes({3, 4}));
  EXPECT_EQ(sizesOf(queue.takeBatch(start)), Sizes({2}));
}

TEST(RequestQueue, ThePreferredSizeIsReachedExactly) {
  BatchSettings settings = dynamicSettings();
  settings.preferredSizes = {4};
  RequestQueue queue(settings);
  for (int i = 0; i < 6; ++i)
    ASSERT_TRUE(queue.push(requestOf(1)).isOk());
  EXPECT_EQ(queue.takeBatch(start).size(), 4u);
  EXPECT_EQ(queue.takeBatch(start).size(), 2u);
}

TEST(RequestQueue, ADelayWaitsForMore) {
  BatchSettings settings = dynamicSettings();
  settings.mostDelay = microseconds(100);
  RequestQueue queue(settings);
  ASSERT_TRUE(queue.push(requestOf(1)).isOk());
  EXPECT_TRUE(queue.takeBatch(start + microseconds(99)).empty());
  EXPECT_EQ(queue.nextEvent(start), start + microseconds(100));
  EXPECT_EQ(queue.takeBatch(start + microseconds(100)).size(), 1u);
  for (int i = 0; i < 8; ++i)
    ASSERT_TRUE(queue.push(requestOf(1)).isOk());
  EXPECT_EQ(queue.takeBatch(start).size(), 8u) << "a full batch waits for none";
}

TEST(RequestQueue, OtherShapesEndABatch) {
  RequestQueue queue(dynamicSettings());
  ASSERT_TRUE(queue.push(requestOf(1, start, 0, 16)).isOk());
  ASSERT_TRUE(queue.push(requestOf(1, start, 0, 8)).isOk());
  EXPECT_EQ(queue.takeBatch(start).size(), 1u);
  BatchSettings ragged = dynamicSettings();
  ragged.raggedInputs = {"INPUT0"};
  RequestQueue other(ragged);
  ASSERT_TRUE(other.push(requestOf(1, start, 0, 16)).isOk());
  ASSERT_TRUE(other.push(requestOf(1, start, 0, 8)).isOk());
  EXPECT_EQ(other.takeBatch(start).size(), 2u);
}

TEST(RequestQueue, HigherPrioritiesGoFirst) {
  BatchSettings settings = dynamicSettings();
  settings.policies.assign(2, {});
  settings.defaultPriority = 2;
  RequestQueue queue(settings);
  ASSERT_TRUE(queue.push(requestOf(1, start, 2)).isOk());
  ASSERT_TRUE(queue.push(requestOf(2, start, 0)).isOk());
  ASSERT_TRUE(queue.push(requestOf(3, start, 1)).isOk());
  EXPECT_EQ(sizesOf(queue.takeBatch(start)), Sizes({3, 1, 2}));
}

TEST(RequestQueue, AFullQueueRefuses) {
  BatchSettings settings = dynamicSettings();
  settings.policies[0].mostWaiting = 1;
  RequestQueue queue(settings);
  ASSERT_TRUE(queue.push(requestOf(1)).isOk());
  const Status refused = queue.push(requestOf(1));
  EXPECT_EQ(refused.message(), "Exceeds maximum queue size");
  EXPECT_EQ(refused.code(), StatusCode::unavailable);
}

TEST(RequestQueue, LateRequestsFail) {
  BatchSettings settings = dynamicSettings();
  settings.policies[0].timeout = microseconds(50);
  RequestQueue queue(settings);
  ASSERT_TRUE(queue.push(requestOf(1)).isOk());
  EXPECT_FALSE(queue.hasLate(start + microseconds(49)));
  EXPECT_EQ(queue.nextEvent(start), start + microseconds(50));
  EXPECT_TRUE(queue.hasLate(start + microseconds(50)));
  EXPECT_EQ(queue.takeEnded(start + microseconds(50)).size(), 1u);
  EXPECT_EQ(queue.size(), 0u);
  EXPECT_FALSE(queue.nextEvent(start));
}

TEST(RequestQueue, OwnTimeoutsOnlyShorten) {
  BatchSettings settings = dynamicSettings();
  settings.policies[0].timeout = microseconds(50);
  settings.policies[0].allowsOverride = true;
  RequestQueue queue(settings);
  WaitingRequest shorter = requestOf(1), longer = requestOf(2);
  shorter.inference->request.timeoutMicroseconds = 10;
  longer.inference->request.timeoutMicroseconds = 100;
  ASSERT_TRUE(queue.push(shorter).isOk());
  ASSERT_TRUE(queue.push(longer).isOk());
  EXPECT_EQ(sizesOf(queue.takeEnded(start + microseconds(10))), Sizes({1}));
  EXPECT_EQ(sizesOf(queue.takeEnded(start + microseconds(50))), Sizes({2}));
}

TEST(RequestQueue, DelayedRequestsGoBehindAllOthers) {
  BatchSettings settings = dynamicSettings();
  settings.mostInBatch = 1;
  settings.policies[0].timeout = microseconds(50);
  settings.policies[0].delaysLate = true;
  RequestQueue queue(settings);
  WaitingRequest first = requestOf(1), second = requestOf(1);
  second.arrival = start + microseconds(40);
  ASSERT_TRUE(queue.push(first).isOk());
  ASSERT_TRUE(queue.push(second).isOk());
  EXPECT_TRUE(queue.takeEnded(start + microseconds(60)).empty());
  EXPECT_EQ(queue.takeBatch(start + microseconds(60))[0].inference,
            second.inference);
  EXPECT_EQ(queue.takeBatch(start + microseconds(60))[0].inference,
            first.inference);
}

TEST(RequestQueue, CancelledRequestsAreTakenOut) {
  RequestQueue queue(dynamicSettings());
  const WaitingRequest request = requestOf(1);
  ASSERT_TRUE(queue.push(request).isOk());
  request.inference->cancel();
  EXPECT_EQ(queue.takeEnded(start).size(), 1u);
}

} // namespace
} // namespace reciperun::server
