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

/// The model, the layout, the memory of the fullest stage with the range of the
/// others, and bounds on the time per step.
std::string estimateText(const Compilation& compilation);

/// The estimate as one JSON object.
nlohmann::ordered_json estimateJson(const Compilation& compilation);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_ESTIMATEREPORT_H
