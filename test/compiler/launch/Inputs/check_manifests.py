#!/usr/bin/env python3
"""Checks manifests against closed schemas, and what schemas do not hold.

usage: check_manifests.py FILE.yaml [VERSION]

The schemas have the fields of each kind that a manifest may use, by the
documentation of Kubernetes 1.33, JobSet 0.12, MPI operator 0.8, training operator
1.9 and Kubeflow Trainer (VERSION: v2.1 or v2.3). An unknown field is an error, as
an API server's strict validation makes it. Then it checks the references between
objects, the rules of webhooks, and that the plan in the ConfigMap is whole.
Prints a line for each object, or the errors and exits 1.
"""
import base64
import gzip
import json
import re
import sys

import jsonschema
import yaml

LABEL = {"type": "string", "pattern": "^[a-z]([-a-z0-9]*[a-z0-9])?$",
         "maxLength": 63}
TEXT = {"type": "string"}
COUNT = {"type": "integer", "minimum": 0}
POSITIVE = {"type": "integer", "minimum": 1}
TRUTH = {"type": "boolean"}
TEXTS = {"type": "object", "additionalProperties": TEXT}
QUANTITY = {"type": "string", "pattern": r"^[0-9]+(m|Ki|Mi|Gi|Ti)?$"}


def closed(required, **properties):
    """An object with these fields alone; the words of `required` are needed."""
    return {"type": "object", "additionalProperties": False,
            "required": required.split(), "properties": properties}


def listed(item):
    return {"type": "array", "items": item, "minItems": 1}


def one_of(*values):
    return {"enum": list(values)}


METADATA = closed("name", name=LABEL, namespace=LABEL, labels=TEXTS)
TEMPLATE_METADATA = closed("", labels=TEXTS)
PORT = {"anyOf": [TEXT, POSITIVE]}
PROBE = closed("httpGet", httpGet=closed("path port", path=TEXT, port=PORT),
               periodSeconds=POSITIVE, failureThreshold=POSITIVE)
VARIABLE = closed(
    "name", name={"type": "string", "pattern": "^[A-Za-z_][A-Za-z0-9_]*$"},
    value=TEXT, valueFrom=closed("secretKeyRef", secretKeyRef=closed(
        "name key", name=TEXT, key=TEXT)))
CONTAINER = closed(
    "name image", name=LABEL, image=TEXT, command=listed(TEXT), args=listed(TEXT),
    env=listed(VARIABLE),
    ports=listed(closed("containerPort", name=LABEL, containerPort=POSITIVE)),
    resources=closed("", limits={"type": "object",
                                 "additionalProperties": QUANTITY},
                     requests={"type": "object",
                               "additionalProperties": QUANTITY}),
    volumeMounts=listed(closed("name mountPath", name=LABEL, mountPath=TEXT,
                               readOnly=TRUTH)),
    securityContext=closed("", capabilities=closed("add", add=listed(
        one_of("IPC_LOCK")))),
    startupProbe=PROBE, readinessProbe=PROBE, livenessProbe=PROBE)
VOLUME = closed(
    "name", name=LABEL, configMap=closed("name", name=TEXT),
    secret=closed("secretName", secretName=TEXT, defaultMode=COUNT),
    emptyDir=closed("", medium=one_of("Memory"), sizeLimit=QUANTITY),
    hostPath=closed("path", path=TEXT),
    persistentVolumeClaim=closed("claimName", claimName=LABEL))
POD = closed(
    "containers", restartPolicy=one_of("Never", "OnFailure", "Always"),
    terminationGracePeriodSeconds=POSITIVE, serviceAccountName=TEXT,
    priorityClassName=TEXT, imagePullSecrets=listed(closed("name", name=TEXT)),
    nodeSelector=TEXTS, subdomain=LABEL, containers=listed(CONTAINER),
    volumes=listed(VOLUME),
    tolerations=listed(closed("", key=TEXT, operator=one_of("Exists", "Equal"),
                              value=TEXT, effect=one_of(
                                  "NoSchedule", "PreferNoSchedule",
                                  "NoExecute"))))
POD_TEMPLATE = closed("spec", metadata=TEMPLATE_METADATA, spec=POD)
JOB = closed(
    "template", completionMode=one_of("Indexed", "NonIndexed"),
    completions=POSITIVE, parallelism=POSITIVE, backoffLimit=COUNT,
    activeDeadlineSeconds=POSITIVE, template=POD_TEMPLATE,
    podFailurePolicy=closed("rules", rules=listed(closed(
        "action", action=one_of("Ignore", "FailJob", "Count", "FailIndex"),
        onPodConditions=listed(closed("type", type=TEXT, status=TEXT))))),
    successPolicy=closed("rules", rules=listed(closed(
        "", succeededIndexes=TEXT, succeededCount=POSITIVE))))
JOB_TEMPLATE = closed("spec", metadata=TEMPLATE_METADATA, spec=JOB)
JOB_SET = closed(
    "replicatedJobs",
    network=closed("", enableDNSHostnames=TRUTH, subdomain=LABEL,
                   publishNotReadyAddresses=TRUTH),
    successPolicy=closed("operator", operator=one_of("All", "Any"),
                         targetReplicatedJobs=listed(TEXT)),
    failurePolicy=closed("", maxRestarts=COUNT),
    replicatedJobs=listed(closed("name template", name=LABEL, replicas=POSITIVE,
                                 template=JOB_TEMPLATE)))
REPLICA = closed("replicas template", replicas=POSITIVE,
                 restartPolicy=one_of("Never", "OnFailure"),
                 template=POD_TEMPLATE)
RUN_POLICY = closed("", cleanPodPolicy=one_of("All", "Running", "None"),
                    backoffLimit=COUNT, activeDeadlineSeconds=POSITIVE)
SELECTOR = closed("matchLabels", matchLabels=TEXTS)
ENDPOINT = closed("port path", port=TEXT, path=TEXT, interval={
    "type": "string", "pattern": "^[0-9]+s$"})
SPECS = {
    ("batch/v1", "Job"): JOB,
    ("jobset.x-k8s.io/v1alpha2", "JobSet"): JOB_SET,
    ("kubeflow.org/v2beta1", "MPIJob"): closed(
        "mpiReplicaSpecs", slotsPerWorker=POSITIVE,
        mpiImplementation=one_of("OpenMPI", "Intel", "MPICH"),
        launcherCreationPolicy=one_of("AtStartup", "WaitForWorkersReady"),
        runPolicy=RUN_POLICY,
        mpiReplicaSpecs=closed("Launcher Worker", Launcher=REPLICA,
                               Worker=REPLICA)),
    ("kubeflow.org/v1", "PyTorchJob"): closed(
        "pytorchReplicaSpecs", runPolicy=RUN_POLICY, nprocPerNode=TEXT,
        pytorchReplicaSpecs=closed("Master", Master=REPLICA, Worker=REPLICA)),
    ("trainer.kubeflow.org/v1alpha1", "TrainingRuntime"): closed(
        "template", mlPolicy=closed("", numNodes=POSITIVE, mpi=closed(
            "", numProcPerNode=POSITIVE, mpiImplementation=one_of("OpenMPI"),
            sshAuthMountPath=TEXT, runLauncherAsNode=TRUTH)),
        template=closed("spec", metadata=TEMPLATE_METADATA, spec=JOB_SET)),
    ("apps/v1", "Deployment"): closed(
        "selector template", replicas=COUNT,
        selector=closed("matchLabels", matchLabels=TEXTS),
        template=POD_TEMPLATE),
    ("v1", "Service"): closed(
        "selector", clusterIP=one_of("None"), publishNotReadyAddresses=TRUTH,
        selector=TEXTS, ports=listed(closed("port", name=LABEL, port=POSITIVE,
                                            targetPort=PORT))),
    ("v1", "PersistentVolumeClaim"): closed(
        "accessModes resources", accessModes=listed(one_of(
            "ReadWriteOnce", "ReadOnlyMany", "ReadWriteMany")),
        storageClassName=TEXT, resources=closed("requests", requests=closed(
            "storage", storage=QUANTITY))),
    ("autoscaling/v2", "HorizontalPodAutoscaler"): closed(
        "scaleTargetRef maxReplicas metrics", minReplicas=POSITIVE,
        maxReplicas=POSITIVE, scaleTargetRef=closed(
            "kind name", apiVersion=TEXT, kind=TEXT, name=LABEL),
        metrics=listed(closed(
            "type", type=one_of("Resource", "Pods"),
            resource=closed("name target", name=one_of("cpu", "memory"),
                            target=closed("type", type=one_of("Utilization"),
                                          averageUtilization=POSITIVE)),
            pods=closed("metric target", metric=closed("name", name=TEXT),
                        target=closed("type", type=one_of("AverageValue"),
                                      averageValue=QUANTITY))))),
    ("monitoring.coreos.com/v1", "PodMonitor"): closed(
        "selector podMetricsEndpoints", selector=SELECTOR,
        podMetricsEndpoints=listed(ENDPOINT)),
    ("monitoring.coreos.com/v1", "ServiceMonitor"): closed(
        "selector endpoints", selector=SELECTOR, endpoints=listed(ENDPOINT)),
}


def train_job(version):
    fields = {"runtimeRef": closed("name", apiGroup=TEXT, kind=one_of(
                  "TrainingRuntime", "ClusterTrainingRuntime"), name=LABEL),
              "trainer": closed("", numNodes=POSITIVE, numProcPerNode=POSITIVE)}
    if version != "v2.1":
        fields["activeDeadlineSeconds"] = POSITIVE
    return closed("runtimeRef", **fields)


def schema_of(item, version):
    kind = (item.get("apiVersion"), item.get("kind"))
    head = {"apiVersion": one_of(kind[0]), "kind": one_of(kind[1]),
            "metadata": METADATA}
    if kind == ("v1", "ConfigMap"):
        return closed("data metadata", data=TEXTS, binaryData=TEXTS, **head)
    if kind == ("trainer.kubeflow.org/v1alpha1", "TrainJob"):
        return closed("metadata spec", spec=train_job(version), **head)
    if kind in SPECS:
        return closed("metadata spec", spec=SPECS[kind], **head)
    return None


def pods_of(value):
    """Yields the PodSpecs within an object."""
    if isinstance(value, dict):
        if "containers" in value:
            yield value
        for each in value.values():
            yield from pods_of(each)
    if isinstance(value, list):
        for each in value:
            yield from pods_of(each)


def pod_faults(pod, files):
    volumes = {each["name"]: each for each in pod.get("volumes", [])}
    for container in pod["containers"]:
        mounted = [each["name"] for each in container["volumeMounts"]]
        if sorted(mounted) != sorted(volumes):
            yield f"mounts {mounted} are not the volumes {sorted(volumes)}"
        script = container["command"][-1]
        if script.rpartition("/")[2] not in files["data"]:
            yield f"no script {script} in the ConfigMap"
        for name, limit in container["resources"]["limits"].items():
            if container["resources"]["requests"].get(name) != limit:
                yield f"the request of {name} is not its limit"
    if volumes["recipe"]["configMap"]["name"] != files["metadata"]["name"]:
        yield "the ConfigMap of the pod is not that of the file"


def rules(item, files):
    """What controllers demand beyond the schema."""
    spec = item.get("spec", {})
    if item["kind"] == "PyTorchJob":
        if spec["pytorchReplicaSpecs"]["Master"]["replicas"] != 1:
            yield "a PyTorchJob has one master"
        if any(pod["containers"][0]["name"] != "pytorch"
               for pod in pods_of(spec)):
            yield "the container of a PyTorchJob is called `pytorch`"
    if item["kind"] == "MPIJob" and (
            spec["mpiReplicaSpecs"]["Launcher"]["replicas"] != 1):
        yield "an MPIJob has one launcher"
    if item["kind"] == "TrainingRuntime" and any(
            pod["containers"][0]["name"] != "node" for pod in pods_of(spec)):
        yield "the container of a TrainingRuntime is called `node`"
    if item["kind"] == "Deployment":
        labels = spec["template"]["metadata"]["labels"]
        if not spec["selector"]["matchLabels"].items() <= labels.items():
            yield "the selector does not select the pods"
    if "podFailurePolicy" in spec and any(
            pod["restartPolicy"] != "Never" for pod in pods_of(spec)):
        yield "a podFailurePolicy needs restartPolicy Never"
    if item["kind"] in ("Job", "Deployment") and any(
            "subdomain" in pod and pod["subdomain"] != item["metadata"]["name"]
            for pod in pods_of(spec)):
        yield "the subdomain is not the Service"


def templates_of(value):
    """Yields the PodTemplateSpecs within an object."""
    if isinstance(value, dict):
        if "containers" in value.get("spec", {}):
            yield value
        for each in value.values():
            yield from templates_of(each)
    if isinstance(value, list):
        for each in value:
            yield from templates_of(each)


# Set by the controllers, not by the templates.
INDEX_LABELS = {"batch.kubernetes.io/job-completion-index",
                "training.kubeflow.org/replica-index"}


def monitor_faults(item, objects):
    """What a monitor selects has the port that it scrapes."""
    wanted = {name: value
              for name, value in item["spec"]["selector"]["matchLabels"].items()
              if name not in INDEX_LABELS}
    if item["kind"] == "ServiceMonitor":
        ports = [{port["name"] for port in each["spec"].get("ports", [])}
                 for each in objects if each["kind"] == "Service"
                 and wanted.items() <= each["metadata"]["labels"].items()]
        endpoints = item["spec"]["endpoints"]
    else:
        ports = [{port["name"] for port in
                  each["spec"]["containers"][0].get("ports", [])}
                 for each in templates_of(objects)
                 if wanted.items() <= each["metadata"]["labels"].items()]
        endpoints = item["spec"]["podMetricsEndpoints"]
    if len(ports) != 1:
        yield f"it selects {len(ports)} templates or Services"
    elif not {each["port"] for each in endpoints} <= ports[0]:
        yield "what it selects lacks its port"


def plan_of(files):
    return json.loads(gzip.decompress(
        base64.b64decode(files["binaryData"]["plan.json.gz"], validate=True)))


def check(path, version):
    """Returns the lines about the objects of a file, and the faults."""
    with open(path, encoding="utf-8") as file:
        objects = list(yaml.safe_load_all(file))
    files = objects[0]
    lines, faults = [], []
    for item in objects:
        name = f"{item.get('kind')} {item['metadata'].get('name')}"
        schema = schema_of(item, version)
        if schema is None:
            faults.append(f"{name}: an unknown kind")
            continue
        for fault in jsonschema.Draft7Validator(schema).iter_errors(item):
            faults.append(f"{name}: {'/'.join(map(str, fault.path))}: "
                          f"{fault.message[:200]}")
        if not faults:
            faults += [f"{name}: {each}" for each in rules(item, files)]
            if "Monitor" in item["kind"]:
                faults += [f"{name}: {each}"
                           for each in monitor_faults(item, objects)]
            faults += [f"{name}: {each}" for pod in pods_of(item)
                       for each in pod_faults(pod, files)]
        lines.append(f"{item.get('apiVersion')} {name}")
    plan = plan_of(files)
    lines.append(f"plan of `{plan['name']}`, paths start in {plan['folder']}")
    if re.search("[^\x00-\x7f]", json.dumps(files["data"], ensure_ascii=False)):
        faults.append("a script is not ASCII")
    return lines, faults


def main():
    version = sys.argv[2] if len(sys.argv) > 2 else "v2.3"
    lines, faults = check(sys.argv[1], version)
    print("\n".join(lines))
    print("\n".join(faults) if faults else "valid")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
