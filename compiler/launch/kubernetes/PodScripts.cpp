// See PodScripts.h.

#include "compiler/launch/kubernetes/PodScripts.h"

#include "compiler/launch/Mpirun.h"
#include "compiler/launch/Shell.h"
#include "runtime/plan/Paths.h"

#include <algorithm>

namespace recipec::launch {
namespace {

/// Unpacks the plan, which each rank reads from its own pod.
constexpr std::string_view head = R"sh(#!/bin/bash
set -euo pipefail
mkdir -p /tmp/recipec
gzip -dc /recipec/plan.json.gz > /tmp/recipec/plan.json
)sh";

constexpr std::string_view forwarding = R"sh(
# A pod that has to stop gets SIGTERM. The ranks save what they have and end.
job=
trap '[ -z "$job" ] || kill -USR1 "$job" 2>/dev/null || true' TERM
)sh";

constexpr std::string_view ownKeys = R"sh(
install -m 600 /recipec-ssh/ssh-privatekey /tmp/recipec/key
ssh_options="-p 2222 -i /tmp/recipec/key -o StrictHostKeyChecking=no \
-o UserKnownHostsFile=/dev/null -o LogLevel=ERROR -o ConnectTimeout=5"
export OMPI_MCA_plm_rsh_args=$ssh_options
export OMPI_MCA_orte_keep_fqdn_hostnames=true
export OMPI_MCA_orte_default_hostfile=/recipec/hostfile
)sh";

constexpr std::string_view operatorKeys = R"sh(
ssh_options="-o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null \
-o LogLevel=ERROR -o ConnectTimeout=5"
export OMPI_MCA_plm_rsh_args="${OMPI_MCA_plm_rsh_args:-} $ssh_options"
export OMPI_MCA_orte_default_hostfile=${OMPI_MCA_orte_default_hostfile:-/etc/mpi/hostfile}
)sh";

constexpr std::string_view waiting = R"sh(
# Pods start in any order, and a name is known when its pod has started.
while read -r host _; do
  case $host in "$(hostname)" | "$(hostname)".*) continue ;; esac
  for ((i = 0; i < 300; ++i)); do
    # shellcheck disable=SC2086 # several words
    ssh $ssh_options "$host" true < /dev/null 2>/dev/null && break
    sleep 2
  done
  [ "$i" -lt 300 ] || { echo "error: the pod $host does not answer" >&2; exit 1; }
done < "$OMPI_MCA_orte_default_hostfile"
)sh";

/// The variables of the image, which a session of ssh does not have.
constexpr const char* imageVariables =
    "-x PATH ${LD_LIBRARY_PATH:+-x LD_LIBRARY_PATH}";

} // namespace

std::string launcherScript(const Job& job, Ssh ssh) {
  std::string text(head);
  text += forwarding;
  if (ssh == Ssh::secret)
    text += ownKeys;
  if (ssh == Ssh::operator_)
    text += operatorKeys;
  if (ssh != Ssh::none)
    text += waiting;
  text += waitFunction();
  std::vector<std::string> words = mpirunWords(job);
  words.push_back(imageVariables);
  words.push_back(shellWord(job.settings.program) +
                  " train /tmp/recipec/plan.json --progress=lines &");
  return text + "\n" + commandOf(words) +
         "\njob=$!\nawait_job\nexit \"$code\"\n";
}

std::string workerScript(Ssh ssh) {
  std::string text(head);
  text += "mkdir -p /run/sshd\n";
  if (ssh == Ssh::secret)
    text +=
        R"sh(install -m 600 /recipec-ssh/ssh-publickey /tmp/recipec/authorized_keys
rm -f /tmp/recipec/host_key
ssh-keygen -q -t ed25519 -N '' -f /tmp/recipec/host_key
/usr/sbin/sshd -D -e -p 2222 -h /tmp/recipec/host_key \
  -o AuthorizedKeysFile=/tmp/recipec/authorized_keys -o StrictModes=no \
  -o PasswordAuthentication=no &
)sh";
  else
    text += R"sh(ssh-keygen -A
/usr/sbin/sshd -D -e -o StrictModes=no -o PasswordAuthentication=no &
)sh";
  return text + R"sh(sshd=$!

# Prints the processes of the ranks in this pod.
ranks() {
  local each name
  for each in /proc/[0-9]*; do
    name=$(cat "$each/comm" 2>/dev/null) || continue
    if [ "$name" = reciperun ]; then echo "${each#/proc/}"; fi
  done
}

# One rank that has to stop makes all ranks save what they have and end.
stop() {
  local rank
  for rank in $(ranks); do kill -USR1 "$rank" 2>/dev/null || true; done
  while [ -n "$(ranks)" ]; do sleep 1; done
  kill "$sshd"
}
trap stop TERM
while kill -0 "$sshd" 2>/dev/null; do
  wait "$sshd" || true
done
)sh";
}

std::string serverScript(const Job& job) {
  // Answers may take until shortly before the pod is killed.
  const int64_t drain = std::max<int64_t>(1, job.settings.grace - 5);
  const std::string model =
      reciperun::plan::resolvePath(job.podFolder, job.model);
  const std::vector<std::string> serve = {
      shellWord(job.settings.program) + " serve " + shellWord(model),
      "--plan /tmp/recipec/plan.json",
      "--host 0.0.0.0",
      "--port " + std::to_string(job.settings.port),
      "--drain-timeout " + std::to_string(drain),
      "--served-model-name " + shellWord(job.label)};
  std::string text(head);
  std::vector<std::string> words;
  if (job.ranks == 1) {
    words = {"exec"};
    words.insert(words.end(), serve.begin(), serve.end());
    return text + commandOf(words) + "\n";
  }
  text += forwarding;
  text += waitFunction();
  words = mpirunWords(job);
  words.insert(words.end(), serve.begin(), serve.end());
  words.push_back("&");
  return text + commandOf(words) + "\njob=$!\nawait_job\nexit \"$code\"\n";
}

} // namespace recipec::launch
