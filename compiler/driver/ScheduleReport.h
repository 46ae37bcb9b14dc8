// The pipeline as text, for `--emit=schedule`.

#ifndef RECIPEC_DRIVER_SCHEDULEREPORT_H
#define RECIPEC_DRIVER_SCHEDULEREPORT_H

#include "compiler/ir/Ir.h"

#include <string>
#include <vector>

namespace recipec::driver {

/// The schedule `train` of every stage over time, with the share of the time
/// that stages wait. A backward pass is drawn twice as long as a forward pass.
/// Below follow the steps of all schedules, stage by stage. Long or deep
/// pipelines show only the first and last parts of the time and of the stages.
/// Instead of the steps they show the number of steps and how far a stage is
/// ahead. A server has no such picture, just the steps of its schedules.
std::string scheduleText(const std::vector<ir::Module>& stages);

/// The steps of all schedules of one stage.
std::string stepsText(const ir::Module& stage);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_SCHEDULEREPORT_H
