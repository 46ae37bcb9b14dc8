// Messages through a queue for each pair of ranks; agreement at a barrier.

#include "ThreadRanks.h"

#include <barrier>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <thread>
#include <vector>

namespace reciperun::checkpoint {
namespace {

struct Exchange {
  explicit Exchange(int ranks) : barrier(ranks), statuses(size_t(ranks)) {}

  std::mutex mutex;
  std::condition_variable arrived;
  std::map<std::pair<int, int>, std::deque<std::vector<std::byte>>> queues;
  std::barrier<> barrier;
  std::vector<Status> statuses;
};

class ThreadRank final : public comm::Communicator {
public:
  ThreadRank(Exchange& exchange, int own, int all)
      : exchange(exchange), own(own), all(all) {}

  int rank() const override { return own; }
  int ranks() const override { return all; }

  Status send(int to, std::span<const std::byte> bytes) override {
    std::lock_guard lock(exchange.mutex);
    exchange.queues[{own, to}].emplace_back(bytes.begin(), bytes.end());
    exchange.arrived.notify_all();
    return Status::ok();
  }

  Status receive(int from, std::span<std::byte> bytes) override {
    std::unique_lock lock(exchange.mutex);
    auto& queue = exchange.queues[{from, own}];
    exchange.arrived.wait(lock, [&] { return !queue.empty(); });
    if (queue.front().size() != bytes.size())
      return Status::error("a message of another size");
    std::copy(queue.front().begin(), queue.front().end(), bytes.begin());
    queue.pop_front();
    return Status::ok();
  }

  Status agree(const Status& mine) override {
    exchange.statuses[size_t(own)] = mine;
    exchange.barrier.arrive_and_wait();
    Status first;
    for (const Status& status : exchange.statuses)
      if (first.isOk() && !status.isOk())
        first = status;
    exchange.barrier.arrive_and_wait();
    return first;
  }

  Status allReduce(int, const comm::Tensor&, const comm::Tensor&,
                   comm::Reduction) override {
    return Status::error("not offered");
  }
  Status allGather(int, const comm::Tensor&, const comm::Tensor&,
                   int) override {
    return Status::error("not offered");
  }
  Status reduceScatter(int, const comm::Tensor&, const comm::Tensor&,
                       int) override {
    return Status::error("not offered");
  }
  Status allToAll(int, const comm::Tensor&, const comm::Tensor&,
                  comm::ShardExchange) override {
    return Status::error("not offered");
  }
  Expected<int> beginSend(int, int, std::span<const std::byte>) override {
    return Status::error("not offered");
  }
  Expected<int> beginReceive(int, int, std::span<std::byte>) override {
    return Status::error("not offered");
  }
  Expected<int> beginAllGather(int, const comm::Tensor&,
                               const comm::Tensor&) override {
    return Status::error("not offered");
  }
  Expected<int> beginExchange(int, const comm::Tensor&,
                              const comm::Tensor&) override {
    return Status::error("not offered");
  }
  Expected<int> beginShift(int, std::span<const comm::Shift>) override {
    return Status::error("not offered");
  }
  Status finish(int) override { return Status::error("not offered"); }

private:
  Exchange& exchange;
  int own;
  int all;
};

} // namespace

void runRanks(int ranks, const std::function<void(comm::Communicator&)>& body) {
  Exchange exchange(ranks);
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      ThreadRank communicator(exchange, rank, ranks);
      body(communicator);
    });
  for (std::thread& thread : threads)
    thread.join();
}

} // namespace reciperun::checkpoint
