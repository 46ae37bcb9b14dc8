// The LoRA adapters that a server knows, and which of them are in memory.
//
// Memory has a fixed number of places. An adapter has a place while a running
// sequence uses it, and keeps it until another adapter needs it; the least
// recently used adapter is replaced first. Ids are never reused, so that cached
// results of a removed adapter cannot be mistaken for those of a later one.

#ifndef RECIPERUN_SERVE_ENGINE_ADAPTERPOOL_H
#define RECIPERUN_SERVE_ENGINE_ADAPTERPOOL_H

#include <cstdint>
#include <map>
#include <vector>

namespace reciperun::serve {

/// Identifies an adapter. Unique within an engine.
using AdapterId = int64_t;
/// The id in requests for the model without an adapter.
inline constexpr AdapterId noAdapter = -1;

/// An adapter to copy to its place before a step.
struct AdapterLoad {
  AdapterId adapter = noAdapter;
  int place = -1;

  bool operator==(const AdapterLoad&) const = default;
};

class AdapterPool {
public:
  /// For `places` adapters in memory at once.
  explicit AdapterPool(int64_t places);

  /// Adds an adapter, which has no place yet.
  AdapterId add();
  /// Removes an adapter when its last request has ended.
  void remove(AdapterId adapter);

  /// Count the requests of an adapter: beginRequest() at the submission,
  /// endRequest() at the end.
  void beginRequest(AdapterId adapter);
  void endRequest(AdapterId adapter);

  /// Whether acquire() would succeed.
  bool canAcquire(AdapterId adapter) const;
  /// Counts a running sequence of the adapter and gives the adapter a place if
  /// it has none. Returns false, and changes nothing, when running sequences
  /// use all places.
  bool acquire(AdapterId adapter);
  void release(AdapterId adapter);
  /// The place of an adapter; -1 for `noAdapter` and for an adapter without a
  /// place.
  int placeOf(AdapterId adapter) const;

  /// The number of waiting requests whose adapter cannot get a place. Takes
  /// time linear in the number of adapters.
  int64_t waitingForPlace() const;

  /// The adapters that got a place since the last call.
  std::vector<AdapterLoad> takeLoads();
  /// The adapters that have been removed since the last call.
  std::vector<AdapterId> takeRemoved();

private:
  struct Adapter {
    int place = -1;
    int64_t requests = 0;
    int64_t running = 0;
    int64_t lastUse = 0;
    bool isLeaving = false; // removed with its last request
  };

  int placeFor() const;
  void removeUnused(AdapterId adapter);

  std::map<AdapterId, Adapter> adapters;
  std::vector<AdapterId> holders; // by place
  std::vector<AdapterLoad> loads;
  std::vector<AdapterId> removed;
  AdapterId nextId = 0;
  int64_t uses = 0;
};

} // namespace reciperun::serve

#endif // RECIPERUN_SERVE_ENGINE_ADAPTERPOOL_H
