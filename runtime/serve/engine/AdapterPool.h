// The LoRA adapters that a server knows, and those that it has in memory.
//
// An adapter has a place while a running sequence uses it, and keeps it
// afterwards until another one needs it: the adapter that was used least
// recently gives its place up. Ids are never used again, so that what was
// computed with a removed adapter is not mistaken for a later one's.

#ifndef RECIPERUN_SERVE_ENGINE_ADAPTERPOOL_H
#define RECIPERUN_SERVE_ENGINE_ADAPTERPOOL_H

#include <cstdint>
#include <map>
#include <vector>

namespace reciperun::serve {

/// A number that is unique among the adapters of an engine.
using AdapterId = int64_t;
/// Of a request for the model without an adapter.
inline constexpr AdapterId noAdapter = -1;

/// An adapter that is to be written to its place.
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

  /// Counts a request, from its submission to its end.
  void beginRequest(AdapterId adapter);
  void endRequest(AdapterId adapter);

  /// Whether acquire() would succeed.
  bool canAcquire(AdapterId adapter) const;
  /// Counts a running sequence of the adapter, which then has a place. Returns
  /// false, and changes nothing, when running sequences use all places.
  bool acquire(AdapterId adapter);
  void release(AdapterId adapter);
  /// -1 for `noAdapter` and for an adapter without one.
  int placeOf(AdapterId adapter) const;

  /// The requests that wait and whose adapter cannot have a place. Takes time
  /// in the number of adapters.
  int64_t waitingForPlace() const;

  /// The adapters that have got a place since the last call.
  std::vector<AdapterLoad> takeLoads();
  /// The adapters that have been removed since the last call.
  std::vector<AdapterId> takeRemoved();

private:
  struct Adapter {
    int place = -1;
    int64_t requests = 0;
    int64_t running = 0;
    int64_t lastUse = 0;
    bool isLeaving = false; // with its last request
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
