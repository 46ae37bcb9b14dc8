// A predicted step as a trace for Perfetto and chrome://tracing.

#ifndef RECIPEC_DRIVER_PREDICTIONTRACE_H
#define RECIPEC_DRIVER_PREDICTIONTRACE_H

#include "compiler/cost/Prediction.h"
#include "compiler/ir/Ir.h"

#include <string>
#include <vector>

namespace recipec::driver {

/// JSON of the trace event format, in microseconds. A process is a stage. Its
/// threads are the functions and the streams of a rank; the first run of each
/// function shows its ops. `prediction` has intervals and refers to `stages`.
std::string traceJson(const std::vector<ir::Module>& stages,
                      const cost::Prediction& prediction);

} // namespace recipec::driver

#endif // RECIPEC_DRIVER_PREDICTIONTRACE_H
