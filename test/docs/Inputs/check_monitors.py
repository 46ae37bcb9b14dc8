"""Checks docs/monitoring/kubernetes.yaml: the monitors have only fields of
monitoring.coreos.com/v1, and select what the file defines."""

import sys

import yaml

ENDPOINT = {"port", "path", "interval", "scrapeTimeout", "scheme", "params",
            "honorLabels", "honorTimestamps", "relabelings",
            "metricRelabelings"}
COMMON = {"selector", "namespaceSelector", "jobLabel", "podTargetLabels",
          "sampleLimit"}
SPECS = {"PodMonitor": (COMMON | {"podMetricsEndpoints"},
                        "podMetricsEndpoints", ENDPOINT | {"portNumber"}),
         "ServiceMonitor": (COMMON | {"endpoints", "targetLabels"},
                            "endpoints", ENDPOINT | {"targetPort"})}


def expect(found, wanted, what):
    if found != wanted:
        raise SystemExit(f"{what}: {found!r}, expected {wanted!r}")


def check_monitor(monitor):
    fields, endpoints, of_endpoint = SPECS[monitor["kind"]]
    name = f"{monitor['kind']} {monitor['metadata']['name']}"
    expect(monitor["apiVersion"], "monitoring.coreos.com/v1", name)
    expect(set(monitor), {"apiVersion", "kind", "metadata", "spec"}, name)
    spec = monitor["spec"]
    expect(set(spec) - fields, set(), f"unknown fields of {name}")
    expect(set(spec["selector"]) - {"matchLabels", "matchExpressions"}, set(),
           f"unknown selectors of {name}")
    for each in spec[endpoints]:
        expect(set(each) - of_endpoint, set(), f"unknown fields of {name}")
        expect(each["path"], "/metrics", f"path of {name}")


documents = list(yaml.safe_load_all(open(sys.argv[1])))
kinds = {each["kind"]: each for each in documents}
expect(set(kinds), {*SPECS, "Service"}, "kinds")
for kind in SPECS:
    check_monitor(kinds[kind])
service, monitor = kinds["Service"], kinds["ServiceMonitor"]["spec"]
wanted = monitor["selector"]["matchLabels"].items()
expect(wanted <= service["metadata"]["labels"].items(), True,
       "the Service that the ServiceMonitor selects")
expect({each["port"] for each in monitor["endpoints"]}
       <= {each["name"] for each in service["spec"]["ports"]}, True,
       "ports of the Service")
labels = kinds["PodMonitor"]["spec"]["selector"]["matchLabels"].values()
expect(all(isinstance(each, str) for each in labels), True, "labels are text")
print("all as expected")
