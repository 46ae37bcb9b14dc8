// What `estimate` says of a recipe, as text and as JSON.

#ifndef RECIPEC_DRIVER_ESTIMATEREPORT_H
#define RECIPEC_DRIVER_ESTIMATEREPORT_H

#include "compiler/driver/Pipeline.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace recipec::driver {

/// `8.03 B`, as models are named: thousands, millions, billions, trillions.
std::string formatCount(int64_t count);

/// The model, the layout, the memory of the fullest stage with the range of the
/// others, and bounds on the time.
std::string estimateText(const Compilation& compilation);

/// The object that the vocabulary names, and behind it what came later.
nlohmann::ordered_json estimateJson(const Compilation& compilation);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_ESTIMATEREPORT_H
