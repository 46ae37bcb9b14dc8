// Rules and policies of jobs; see Findings.h.

#include "compiler/import/manifest/Findings.h"

#include <algorithm>

namespace recipec::importer::manifest {
namespace {

using diag::Kind;

class PolicyInspector {
public:
  PolicyInspector(const Manifest& manifest, diag::Engine& engine)
      : manifest(manifest), engine(engine) {}

  void inspect() {
    for (const Pod& pod : manifest.pods) {
      checkRestart(pod);
      checkContainerName(pod);
    }
    for (const Object& each : manifest.objects) {
      checkJobs(each);
      checkReplicas(each);
      checkClean(each);
      checkOverrides(each);
      checkScaling(each);
      checkName(each);
    }
  }

private:
  void refuse(const Node& node, std::string message, std::string help) {
    engine.report(Kind::ManifestSchema, node.range(), std::move(message))
        .help(std::move(help));
  }
  void doubt(const Node& node, std::string message, std::string help) {
    engine.report(Kind::ManifestPolicy, node.range(), std::move(message))
        .help(std::move(help));
  }
  /// Whether pods of the object have GPUs.
  bool hasGpus(const Object& object) const {
    return std::any_of(
        manifest.pods.begin(), manifest.pods.end(),
        [&](const Pod& pod) { return pod.owner == &object && pod.gpus() > 0; });
  }

  void checkRestart(const Pod& pod);
  void checkContainerName(const Pod& pod);
  void checkJobs(const Object& object);
  void checkJob(const Object& object, const Node& spec);
  void checkFailurePolicy(const Node& spec);
  void checkReplicas(const Object& object);
  void checkClean(const Object& object);
  void checkOverrides(const Object& object);
  void checkScaling(const Object& object);
  void checkName(const Object& object);

  const Manifest& manifest;
  diag::Engine& engine;
};

bool isOfJobs(const Object& object) {
  return object.kind == "Job" || object.kind == "CronJob" ||
         object.kind == "JobSet" || object.kind.ends_with("TrainingRuntime");
}

bool isServer(const Object& object) {
  return object.kind == "Deployment" || object.kind == "ReplicaSet" ||
         object.kind == "StatefulSet" || object.kind == "DaemonSet";
}

void PolicyInspector::checkRestart(const Pod& pod) {
  const Node own = pod.spec["restartPolicy"];
  const std::string policy = pod.restart.text();
  const std::string& kind = pod.owner->kind;
  // The controllers of a runtime and of an MPIJob have defaults of their own.
  if (isOfJobs(*pod.owner) && !kind.ends_with("TrainingRuntime") &&
      (policy.empty() || policy == "Always"))
    refuse(policy.empty() ? pod.spec["containers"] : own,
           policy.empty()
               ? "the pods of a " + kind +
                     " have no `restartPolicy`, and the default `Always` is "
                     "refused"
               : "the pods of a " + kind +
                     " cannot have `restartPolicy: " + policy + "`",
           "write `restartPolicy: Never`, or `OnFailure` to start a container "
           "again in its pod");
  if (isServer(*pod.owner) && !policy.empty() && policy != "Always")
    refuse(own,
           "the pods of a " + kind +
               " have `restartPolicy: Always` alone, not "
               "`" +
               policy + "`",
           "leave it out");
  if (kind == "PyTorchJob" && policy == "Always")
    doubt(pod.restart,
          "with `restartPolicy: Always` a rank starts again after success, "
          "too, and the job does not end",
          "write `OnFailure`, or `ExitCode` to start again after exit codes "
          "from 128 on");
  const bool isOverridden = !pod.role.empty() && own &&
                            pod.restart.text() != own.text() &&
                            (kind == "PyTorchJob" || kind == "MPIJob");
  if (isOverridden)
    doubt(own,
          "the `restartPolicy` of the replica, `" + pod.restart.text() +
              "`, replaces this one",
          "leave this one out");
}

void PolicyInspector::checkContainerName(const Pod& pod) {
  const std::string& kind = pod.owner->kind;
  const std::string wanted =
      kind == "PyTorchJob" ? "pytorch"
      : kind.ends_with("TrainingRuntime") &&
              (pod.role == "node" || pod.role == "launcher")
          ? "node"
          : "";
  if (wanted.empty() || pod.containers().empty())
    return;
  for (const Node& each : pod.containers())
    if (each["name"].text() == wanted)
      return;
  const Node name = pod.containers().front()["name"];
  auto builder = engine.report(Kind::ManifestSchema, name.range(),
                               "no container of the `" + pod.role + "` of a " +
                                   kind + " is called `" + wanted +
                                   "`, by which the controller finds it");
  builder.help("write `name: " + wanted + "`");
  if (name)
    builder.fixIt(name.valueRange(), wanted, diag::Applicability::safe);
}

void PolicyInspector::checkFailurePolicy(const Node& spec) {
  const Node policy = spec["podFailurePolicy"];
  const Node restart = spec.at("template.spec.restartPolicy");
  if (policy && restart.text() != "Never")
    refuse(policy,
           "a `podFailurePolicy` needs pods with `restartPolicy: Never`",
           "write `restartPolicy: Never` in the template");
  if (spec["successPolicy"] && spec["completionMode"].text() != "Indexed")
    refuse(spec["successPolicy"],
           "a `successPolicy` needs `completionMode: Indexed`", "add the mode");
  if (spec["backoffLimitPerIndex"] &&
      spec["completionMode"].text() != "Indexed")
    refuse(spec["backoffLimitPerIndex"],
           "a `backoffLimitPerIndex` needs `completionMode: Indexed`",
           "add the mode");
}

void PolicyInspector::checkJob(const Object& object, const Node& spec) {
  checkFailurePolicy(spec);
  const Node mode = spec["completionMode"], pods = spec["parallelism"];
  if (mode.text() == "Indexed" && !spec["completions"])
    refuse(mode, "an Indexed job has no `completions`, one for each index",
           "write `completions: " + std::to_string(pods.count().value_or(1)) +
               "`");
  if (pods.count().value_or(1) > 1 && mode.text() != "Indexed" &&
      hasGpus(object))
    doubt(pods,
          std::to_string(*pods.count()) +
              " pods that do not know their number, by which ranks find each "
              "other",
          "write `completionMode: Indexed` and `completions: " +
              std::to_string(*pods.count()) +
              "`: a pod has its number in JOB_COMPLETION_INDEX");
}

void PolicyInspector::checkJobs(const Object& object) {
  const Node spec = object.spec();
  if (object.kind == "CronJob")
    checkJob(object, spec.at("jobTemplate.spec"));
  for (const Node& each : spec["replicatedJobs"].elements())
    checkJob(object, each.at("template.spec"));
  if (object.kind != "Job")
    return;
  checkJob(object, spec);
  if (!spec["backoffLimit"] && !spec["backoffLimitPerIndex"] && hasGpus(object))
    doubt(object.root["spec"],
          "a Job without `backoffLimit` starts a training that fails six more "
          "times",
          "write `backoffLimit: 0`, or as many restarts as the training "
          "resumes from");
}

/// The rules of the webhooks of Kubeflow.
void PolicyInspector::checkReplicas(const Object& object) {
  const bool isTorch = object.kind == "PyTorchJob";
  if (!isTorch && object.kind != "MPIJob")
    return;
  const Node specs =
      object.spec()[isTorch ? "pytorchReplicaSpecs" : "mpiReplicaSpecs"];
  const char* first = isTorch ? "Master" : "Launcher";
  const Node count = specs[first]["replicas"];
  if (count.count().value_or(1) != 1)
    refuse(count,
           "the kind " + object.kind + " has one `" + first + "`, not " +
               count.text(),
           isTorch ? "write `replicas: 1`, and the other pods as `Worker`"
                   : "write `replicas: 1`");
  const Node elastic = object.spec()["elasticPolicy"];
  if (isTorch && elastic && !specs["Worker"])
    refuse(elastic, "an `elasticPolicy` needs replicas of `Worker`",
           "add them, or leave the policy out");
  const auto least = elastic["minReplicas"].count(),
             most = elastic["maxReplicas"].count();
  if (least && most && *least > *most)
    refuse(elastic["minReplicas"],
           "`minReplicas` = " + std::to_string(*least) +
               " is above `maxReplicas` = " + std::to_string(*most),
           "lower it");
  if (!isTorch && specs.isRecord() && !specs["Worker"])
    refuse(specs, "an MPIJob without `Worker` has no pods for ranks",
           "add `Worker` with its `replicas`");
  if (!isTorch && specs["Worker"] && !specs["Worker"]["replicas"])
    refuse(specs["Worker"],
           "the `Worker` of an MPIJob has no `replicas`, and the default is 0",
           "write `replicas`, the number of pods with ranks");
}

void PolicyInspector::checkClean(const Object& object) {
  for (const Node& policy : {object.spec(), object.spec()["runPolicy"]}) {
    const Node keep = policy["ttlSecondsAfterFinished"];
    constexpr int64_t leastKept = 300;
    if (keep.count().value_or(leastKept) < leastKept)
      doubt(keep,
            "the pods and their logs are deleted " + keep.text() +
                " s after the job's end",
            "keep them for a day, `ttlSecondsAfterFinished: 86400`, or collect "
            "the logs elsewhere");
  }
}

/// The schema of a TrainJob has moved between versions of Kubeflow Trainer.
void PolicyInspector::checkOverrides(const Object& object) {
  if (object.kind != "TrainJob")
    return;
  const Node spec = object.spec();
  struct Old {
    const char *field, *versions, *instead;
  };
  constexpr Old olds[] = {
      {"podSpecOverrides", "2.0", "runtimePatches"},
      {"podTemplateOverrides", "2.1", "runtimePatches"},
      {"labels", "2.0 and 2.1", "runtimePatches"},
      {"annotations", "2.0 and 2.1", "runtimePatches"},
  };
  for (const Old& old : olds)
    if (const Node field = spec[old.field])
      engine
          .report(Kind::ManifestVersion, field.nameRange(),
                  "a TrainJob has `" + std::string(old.field) +
                      "` in Kubeflow Trainer " + old.versions + " alone")
          .help("from 2.2 on write `" + std::string(old.instead) + "`");
  const Node processes = spec.at("trainer.numProcPerNode");
  if (processes && !processes.isInteger())
    engine
        .report(Kind::ManifestVersion, processes.range(),
                "`numProcPerNode` is the text `" + processes.text() +
                    "`, which Kubeflow Trainer takes up to 2.1 alone")
        .help("write a whole number, or leave it out");
}

void PolicyInspector::checkScaling(const Object& object) {
  if (object.kind != "HorizontalPodAutoscaler")
    return;
  const Node least = object.spec()["minReplicas"],
             most = object.spec()["maxReplicas"];
  if (least.count() && most.count() && *least.count() > *most.count())
    refuse(least,
           "`minReplicas` = " + least.text() +
               " is above `maxReplicas` = " + most.text(),
           "lower it");
}

/// Names of pods and of their Services are labels of DNS.
void PolicyInspector::checkName(const Object& object) {
  const Node name = object.root.at("metadata.name");
  constexpr size_t longestLabel = 63;
  struct Suffix {
    std::string_view kind, added;
  };
  constexpr Suffix suffixes[] = {{"PyTorchJob", "-worker-999"},
                                 {"MPIJob", "-worker-999"},
                                 {"TrainJob", "-node-0-999"},
                                 {"JobSet", "-worker-0-999"},
                                 {"Service", ""}};
  for (const Suffix& each : suffixes) {
    if (each.kind != object.kind || !name.isText())
      continue;
    const std::string text = name.text();
    const bool isStrict = !text.empty() && text[0] >= 'a' && text[0] <= 'z' &&
                          text.find('.') == text.npos;
    if (!isStrict)
      refuse(name,
             "`" + text + "` is no name for the kind " + object.kind +
                 ": it begins with a letter and has no `.` (DNS-1035)",
             "write lower-case letters, digits and `-`");
    else if (text.size() + each.added.size() > longestLabel)
      refuse(name,
             "the name has " + std::to_string(text.size()) +
                 " characters, and with `" + std::string(each.added) +
                 "` for a pod more than the " + std::to_string(longestLabel) +
                 " of a DNS label",
             "shorten it to " +
                 std::to_string(longestLabel - each.added.size()));
  }
}

} // namespace

void checkPolicies(const Manifest& manifest, diag::Engine& engine) {
  PolicyInspector(manifest, engine).inspect();
}

} // namespace recipec::importer::manifest
