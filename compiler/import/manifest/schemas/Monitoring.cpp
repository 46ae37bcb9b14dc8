// The fields of the Prometheus operator's objects.

#include "compiler/import/manifest/schemas/Schemas.h"

namespace recipec::importer::manifest {

const std::string_view monitoringTypes = R"(
type SpaceSelector = {any bool, matchNames [string]}
type Endpoint = {
  authorization any, basicAuth any, bearerTokenFile string, bearerTokenSecret any,
  enableHttp2 bool, filterRunning bool, followRedirects bool, honorLabels bool,
  honorTimestamps bool, interval duration, metricRelabelings [any],
  noProxy string, oauth2 any, params any, path string, port string,
  portNumber positive, proxyConnectHeader any, proxyFromEnvironment bool,
  proxyUrl string, relabelings [any], scheme http | https | HTTP | HTTPS,
  scrapeTimeout duration, targetPort int-or-string, tlsConfig any,
  trackTimestampsStaleness bool
}
type ServiceMonitor = {
  apiVersion* string, kind* string, metadata* Metadata, status any,
  spec* {
    attachMetadata any, bodySizeLimit string, convertClassicHistogramsToNHCB bool,
    endpoints* [Endpoint], fallbackScrapeProtocol string, jobLabel string,
    keepDroppedTargets count, labelLimit count, labelNameLengthLimit count,
    labelValueLengthLimit count, namespaceSelector SpaceSelector,
    nativeHistogramBucketLimit count, nativeHistogramMinBucketFactor quantity,
    podTargetLabels [string], sampleLimit count, scrapeClass string,
    scrapeClassicHistograms bool, scrapeNativeHistograms bool,
    scrapeProtocols [string], selector* Selector, selectorMechanism string,
    serviceDiscoveryRole string, targetLabels [string], targetLimit count
  }
}
type PodMonitor = {
  apiVersion* string, kind* string, metadata* Metadata, status any,
  spec* {
    attachMetadata any, bodySizeLimit string, convertClassicHistogramsToNHCB bool,
    fallbackScrapeProtocol string, jobLabel string, keepDroppedTargets count,
    labelLimit count, labelNameLengthLimit count, labelValueLengthLimit count,
    namespaceSelector SpaceSelector, nativeHistogramBucketLimit count,
    nativeHistogramMinBucketFactor quantity, podMetricsEndpoints* [Endpoint],
    podTargetLabels [string], sampleLimit count, scrapeClass string,
    scrapeClassicHistograms bool, scrapeNativeHistograms bool,
    scrapeProtocols [string], selector* Selector, selectorMechanism string,
    targetLimit count
  }
}
type PrometheusRule = {
  apiVersion* string, kind* string, metadata* Metadata, status any,
  spec* {groups [{
    interval duration, labels map string, limit count, name* string,
    partial_response_strategy string, query_offset duration,
    rules [{
      alert string, annotations map string, expr* int-or-string, for duration,
      keep_firing_for duration, labels map string, record string
    }]
  }]}
}
)";

} // namespace recipec::importer::manifest
