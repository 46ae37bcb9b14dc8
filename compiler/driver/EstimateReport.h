// The output of `estimate`, as text and as JSON.

#ifndef RECIPEC_DRIVER_ESTIMATEREPORT_H
#define RECIPEC_DRIVER_ESTIMATEREPORT_H

#include "compiler/driver/Pipeline.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace recipec::driver {

/// `8.03 B`, in the units of model names: thousands, millions, billions,
/// trillions.
std::string formatCount(int64_t count);

/// `3.2 days`: the largest unit in which the time is at least two.
std::string formatSeconds(double seconds);

/// `12.5 %` of 0.125.
std::string percent(double part);

/// `dp 2, cp 1, tp 4, ...`: the degrees of parallelism.
std::string layoutText(const recipe::Recipe& recipe);

/// `512 sequences of 8192 tokens, in 64 micro-batches of 1`.
std::string batchText(const recipe::Recipe& recipe);

/// The model, the layout, the memory of the fullest stage with the range of the
/// others, and bounds on the time per step.
std::string estimateText(const Compilation& compilation);

/// The estimate as one JSON object.
nlohmann::ordered_json estimateJson(const Compilation& compilation);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_ESTIMATEREPORT_H
