// How the memory of a recipe would change with its settings, without compiling
// it again.

#ifndef RECIPEC_DRIVER_MEMORYFORECAST_H
#define RECIPEC_DRIVER_MEMORYFORECAST_H

#include "compiler/driver/Pipeline.h"

namespace recipec::driver {

/// What a change multiplies the categories of the memory table by.
struct MemoryChange {
  double parameters = 1;
  double gradients = 1;
  double optimizer = 1;
  double activations = 1;
};

/// Knows of the fullest stage what its activations are made of. The forecasts
/// decide what is worth compiling; they are no promise.
class MemoryForecast {
public:
  explicit MemoryForecast(const Compilation& compilation);

  /// Bytes of a rank.
  int64_t total(const MemoryChange& change) const;
  /// The part of the activations that is left where whole layers are computed
  /// again, and where what is quick to compute is.
  double fullRecompute() const;
  double selectiveRecompute() const;
  /// Likewise where a rank has places for `factor` times its even share of the
  /// experts' rows; 1 where the model has no experts.
  double expertRows(double factor) const;
  bool hasExperts() const { return rowsToShare > 0; }
  /// Ways of its even share that a rank has places for at most.
  double mostExpertRows() const { return rowsToShare; }

private:
  void measureSaved(const ir::Module& stage);
  void measureExperts(const ir::Module& stage);
  double part(double bytesLess) const;

  cost::MemoryTable memory;
  double saved = 0;        // bytes of what layers keep for the backward pass
  double savedOfLayer = 0; // of the layer that keeps most, one micro-batch's
  double inputs = 0;       // of the layers' inputs alone
  double quick = 0;        // of what attention makes
  double expertBytes = 0;  // of rows of experts that can be packed
  double rowsToShare = 0;
};

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_MEMORYFORECAST_H
