// The targets of `recipec launch`: what each is for, and the files that it
// writes.

#ifndef RECIPEC_LAUNCH_TARGET_H
#define RECIPEC_LAUNCH_TARGET_H

#include "compiler/launch/Job.h"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace recipec::launch {

/// What starts the job.
enum class System { shell, slurm, kubernetes };

/// The output of a launch.
struct Place {
  std::string folder;   // absolute
  std::string hostfile; // absolute; of `mpirun` alone; may be empty
};

struct Target {
  std::string_view name; // as `--target` takes it
  std::string_view help;
  System system;
  bool serves = false; // for tasks that serve, instead of trainings
  /// Several pods need `launch.ssh_secret`, because no controller makes keys.
  bool needsKeys = false;
  /// The files for the jobs, without their plans. There are several jobs if
  /// the recipe has a sweep.
  Files (*write)(const std::vector<Job>& jobs, const Place& place) = nullptr;
};

std::span<const Target> targets();

/// nullptr if there is none of that name.
const Target* findTarget(std::string_view name);

} // namespace recipec::launch

#endif // RECIPEC_LAUNCH_TARGET_H
