// Limits how many instances of models run at the same time, by the resources
// that they need (rate_limiter of an instance group).
//
// An instance starts when all of its resources are free. Among waiting
// instances, the one with the fewest executions, weighted by its priority,
// starts first.

#ifndef RECIPERUN_SERVER_SCHEDULE_RATELIMITER_H
#define RECIPERUN_SERVER_SCHEDULE_RATELIMITER_H

#include <cstdint>
#include <functional>
#include <list>
#include <map>
#include <string>
#include <vector>

namespace reciperun::server {

/// Belongs to the server's thread.
class RateLimiter {
public:
  /// What an instance needs, by the resource's name.
  using Needs = std::map<std::string, uint64_t>;

  /// An instance and its claims to resources, which end when it is destroyed.
  class Instance {
  public:
    Instance(RateLimiter& limiter, Needs needs, uint64_t priority);
    Instance(const Instance&) = delete;
    Instance& operator=(const Instance&) = delete;
    ~Instance();

    /// Whether the resources are free. If not, `whenFree` runs once it is this
    /// instance's turn to try again.
    bool canStart(std::function<void()> whenFree);
    /// Takes the resources.
    void start();
    /// Gives the resources back.
    void finish();

  private:
    friend RateLimiter;
    RateLimiter& limiter;
    Needs needs;
    uint64_t priority;       // 1 is the highest; 2 runs half as often
    uint64_t executions = 0; // begun
    bool runs = false;
    std::function<void()> waiting;
  };

  /// `capacity` gives the amount of each resource. If it lacks a resource,
  /// there is as much of it as the most demanding instance needs.
  explicit RateLimiter(std::map<std::string, uint64_t> capacity = {});

private:
  uint64_t capacityOf(const std::string& resource) const;
  bool has(const Needs& needs) const;
  void wakeNext();

  std::map<std::string, uint64_t> capacity, used;
  std::list<Instance*> instances;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_SCHEDULE_RATELIMITER_H
