// Asks hosts whether they still answer, by the agent with which mpirun starts
// its daemons on them.

#ifndef RECIPERUN_LAUNCH_HOSTANSWERS_H
#define RECIPERUN_LAUNCH_HOSTANSWERS_H

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace reciperun::launch {

/// The words of mpirun's launch agent, such as `ssh -x`: its parameter
/// `plm_rsh_agent` from `options` or the environment, of which alternatives are
/// divided by `:`, and its `plm_rsh_args`. Nullopt when no alternative is a
/// program in PATH.
std::optional<std::vector<std::string>>
launchAgent(const std::vector<std::string>& options);

/// Whether the name is of this machine, where mpirun needs no agent.
bool isThisHost(const std::string& name);

/// The hosts on which the agent cannot run `true` within the limit, in their
/// order. All are asked at the same time.
std::vector<std::string> silentHosts(const std::vector<std::string>& hosts,
                                     const std::vector<std::string>& agent,
                                     std::chrono::milliseconds limit);

} // namespace reciperun::launch

#endif // RECIPERUN_LAUNCH_HOSTANSWERS_H
