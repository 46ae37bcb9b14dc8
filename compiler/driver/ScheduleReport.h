// The pipeline as text, for `--emit=schedule`.

#ifndef RECIPEC_DRIVER_SCHEDULEREPORT_H
#define RECIPEC_DRIVER_SCHEDULEREPORT_H

#include "compiler/ir/Ir.h"

#include <string>
#include <vector>

namespace recipec::driver {

/// The schedule `train` of every stage against time, a backward pass twice as
/// long as a forward pass, with the part of the time that stages wait; then the
/// steps of all schedules, stage by stage. Of pipelines that are long or deep
/// the first and the last part of both the time and the stages; and for the
/// steps, how many there are and how far a stage is ahead.
std::string scheduleText(const std::vector<ir::Module>& stages);

/// The steps of all schedules of one stage.
std::string stepsText(const ir::Module& stage);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_SCHEDULEREPORT_H
