// A chart of `scale` as an SVG image.

#ifndef RECIPEC_DRIVER_SCALECHART_H
#define RECIPEC_DRIVER_SCALECHART_H

#include "compiler/driver/ScaleReport.h"

#include <string>

namespace recipec::driver {

/// Tokens/s of a rank over the ranks, which double at each tick: a line for
/// each kind of scaling, and a dashed one for perfect scaling of the first.
/// Points that do not fit are hollow. The image needs no other file.
std::string scaleChart(const ScaleReport& report);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_SCALECHART_H
