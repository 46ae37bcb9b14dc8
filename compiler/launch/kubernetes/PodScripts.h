// The scripts that start ranks in pods.
//
// mpirun runs in one pod, the launcher, and reaches the others by ssh. Pods are
// told to stop by SIGTERM, to which mpirun would answer by killing the ranks
// after a second; the scripts pass SIGUSR1 on instead.

#ifndef RECIPEC_LAUNCH_KUBERNETES_PODSCRIPTS_H
#define RECIPEC_LAUNCH_KUBERNETES_PODSCRIPTS_H

#include "compiler/launch/Job.h"

#include <string>
#include <string_view>

namespace recipec::launch {

/// Where the ConfigMap and the keys for ssh are mounted.
inline constexpr std::string_view recipeMount = "/recipec";
inline constexpr std::string_view keysMount = "/recipec-ssh";

/// Who makes the keys for ssh and the host file.
enum class Ssh {
  none,     // there is one pod
  secret,   // `launch.ssh_secret`, and a host file of the ConfigMap
  operator_ // the controller of an MPIJob or TrainJob
};

/// Waits for the other pods and runs mpirun.
std::string launcherScript(const Job& job, Ssh ssh);

/// Lets the launcher in until the pod ends.
std::string workerScript(Ssh ssh);

/// Runs a server.
std::string serverScript(const Job& job);

} // namespace recipec::launch

#endif // RECIPEC_LAUNCH_KUBERNETES_PODSCRIPTS_H
