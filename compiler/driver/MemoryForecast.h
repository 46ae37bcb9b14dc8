// Estimates how settings change the memory of a recipe, without compiling it
// again.

#ifndef RECIPEC_DRIVER_MEMORYFORECAST_H
#define RECIPEC_DRIVER_MEMORYFORECAST_H

#include "compiler/driver/Pipeline.h"

namespace recipec::driver {

/// The factors by which a change scales the categories of the memory table.
struct MemoryChange {
  double parameters = 1;
  double gradients = 1;
  double optimizer = 1;
  double activations = 1;
};

/// Breaks down the activations of the fullest stage. The forecasts only choose
/// the candidates to compile; they are not exact.
class MemoryForecast {
public:
  explicit MemoryForecast(const Compilation& compilation);

  /// The forecast total in bytes per rank.
  int64_t total(const MemoryChange& change) const;
  /// The share of the activations that remains with full recomputation of
  /// layers, and with selective recomputation.
  double fullRecompute() const;
  double selectiveRecompute() const;
  /// The share of the activations that remains if a rank has space for `factor`
  /// times its even share of expert rows; 1 if the model has no experts.
  double expertRows(double factor) const;
  bool hasExperts() const { return rowsToShare > 0; }
  /// The maximum number of expert rows of a rank, in multiples of its even
  /// share.
  double mostExpertRows() const { return rowsToShare; }

private:
  void measureSaved(const ir::Module& stage);
  void measureExperts(const ir::Module& stage);
  double part(double bytesLess) const;

  cost::MemoryTable memory;
  double saved = 0;        // bytes that layers save for the backward pass
  double savedOfLayer = 0; // of the layer that saves most, for one micro-batch
  double inputs = 0;       // bytes of the layers' inputs
  double quick = 0;        // bytes of attention's results
  double expertBytes = 0;  // bytes of expert rows that can be packed
  double rowsToShare = 0;
};

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_MEMORYFORECAST_H
