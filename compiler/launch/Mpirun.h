// The command that starts the ranks of a job with Open MPI, and the script of
// the target `mpirun`.

#ifndef RECIPEC_LAUNCH_MPIRUN_H
#define RECIPEC_LAUNCH_MPIRUN_H

#include "compiler/launch/Job.h"

#include <string>
#include <vector>

namespace recipec::launch {

/// `mpirun -np RANKS` with the mapping of ranks to nodes and cores, and the
/// environment that other nodes need. Quoted for a shell. `ranks` is the word
/// of their number if that is chosen in the script.
std::vector<std::string> mpirunWords(const Job& job,
                                     const std::string& ranks = "");

/// The script that runs the jobs one after another, or one of them if they are
/// layouts of one run. The folder of a job's plan
/// is found from the script's own, so that all of it can be moved.
/// `hostfile` is absolute; empty: this host. `folder` is that of the script.
std::string mpirunScript(const std::vector<Job>& jobs,
                         const std::string& hostfile,
                         const std::string& folder);

} // namespace recipec::launch

#endif // RECIPEC_LAUNCH_MPIRUN_H
