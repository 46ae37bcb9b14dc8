// Messages go through one queue per pair of ranks; agreement uses a barrier.

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
      : Communicator(own, all, nullptr), exchange(exchange) {}

  Status move(const comm::Message& message) override {
    return message.kind == comm::Message::Kind::send
               ? send(message.peer, message.sent)
               : receive(message.peer, message.received);
  }

  Status agree(const Status& mine) override {
    exchange.statuses[size_t(rank())] = mine;
    exchange.barrier.arrive_and_wait();
    Status first;
    for (const Status& status : exchange.statuses)
      if (first.isOk() && !status.isOk())
        first = status;
    exchange.barrier.arrive_and_wait();
    return first;
  }

  Status run(const comm::Collective&) override {
    return Status::error("not offered");
  }
  Expected<int> begin(const comm::Collective&) override {
    return Status::error("not offered");
  }
  Expected<int> begin(const comm::Message&) override {
    return Status::error("not offered");
  }
  Status finish(int) override { return Status::error("not offered"); }

private:
  Status send(int to, std::span<const std::byte> bytes) {
    std::lock_guard lock(exchange.mutex);
    exchange.queues[{rank(), to}].emplace_back(bytes.begin(), bytes.end());
    exchange.arrived.notify_all();
    return Status::ok();
  }

  Status receive(int from, std::span<std::byte> bytes) {
    std::unique_lock lock(exchange.mutex);
    auto& queue = exchange.queues[{from, rank()}];
    exchange.arrived.wait(lock, [&] { return !queue.empty(); });
    if (queue.front().size() != bytes.size())
      return Status::error("a message of another size");
    std::copy(queue.front().begin(), queue.front().end(), bytes.begin());
    queue.pop_front();
    return Status::ok();
  }

  Exchange& exchange;
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
