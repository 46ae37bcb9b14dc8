// The part of an estimate about serving.

#ifndef RECIPEC_DRIVER_SERVINGREPORT_H
#define RECIPEC_DRIVER_SERVINGREPORT_H

#include "compiler/driver/Pipeline.h"

#include <nlohmann/json_fwd.hpp>

#include <string>

namespace recipec::driver {

/// The limits of a step, one line each.
std::string servingLimitsText(const recipe::Recipe& recipe);

/// The cache, the sequences that fit in it, and the bounds of the speed.
std::string servingText(const Compilation& compilation);

/// The same as an object: `max_batch`, `token_budget`, `cache_bytes`,
/// `cache_tokens`, `page`, `pages`, `fits_at_once` (a list of `tokens` and
/// `sequences`), `first_token_seconds`, `context`, `single` and `full` (each
/// with `sequences`, `step_seconds`, `tokens_per_second` and `bound_by`).
nlohmann::ordered_json servingJson(const Compilation& compilation);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_SERVINGREPORT_H
