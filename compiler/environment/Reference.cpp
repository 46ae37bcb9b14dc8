// See Reference.h.

#include "compiler/environment/Reference.h"

#include "compiler/environment/Variables.h"

namespace recipec::environment {
namespace {

std::string valuesText(const Known& known) {
  switch (known.values) {
  case Values::any:
    return "";
  case Values::flag:
    return "0, 1";
  case Values::number:
    return known.most == INT64_MAX ? "from " + std::to_string(known.least)
                                   : std::to_string(known.least) + " to " +
                                         std::to_string(known.most);
  case Values::level:
    return "LOC, NVL, PIX, PXB, PHB, SYS";
  case Values::verbosity:
    return "VERSION, WARN, INFO, TRACE";
  case Values::algorithms:
    return "Ring, Tree, CollnetDirect, CollnetChain, NVLS, NVLSTree, PAT";
  case Values::protocols:
    return "LL, LL128, Simple";
  }
  return "";
}

std::string_view whereText(Where where) {
  switch (where) {
  case Where::anywhere:
    return "";
  case Where::efa:
    return "on EFA, ";
  case Where::severalNodes:
    return "with several nodes, ";
  }
  return "";
}

/// `on EFA, NCCL_PROTO=simple`
std::string subjectOf(const Mistake& mistake) {
  return std::string(mistake.name) +
         (mistake.value.empty() ? "" : "=" + std::string(mistake.value));
}

} // namespace

std::optional<std::string> variableText(std::string_view name) {
  std::string text;
  if (const Known* known = findKnown(name)) {
    text += std::string(known->purpose) + "\n\n";
    text += "default: " + std::string(known->usual) + "\n";
    if (const std::string values = valuesText(*known); !values.empty())
      text += "values: " + values + "\n";
    if (!known->since.empty())
      text += "since: " + std::string(known->since) + "\n";
  }
  for (const Mistake& each : knownMistakes()) {
    if (each.name != name)
      continue;
    text += (text.empty() ? "" : "\n") + std::string(whereText(each.where)) +
            "`" + subjectOf(each) + "` " + std::string(each.reason) + " [" +
            std::string(diag::kindName(each.kind)) + "]\n" +
            std::string(each.remedy) + "\n";
    if (!each.evidence.empty())
      text += "measured: " + std::string(each.evidence) + "\n";
  }
  if (text.empty())
    return std::nullopt;
  return std::string(name) + ": " + text;
}

std::string variablesPage() {
  std::string page = R"(# Variables of NCCL

`recipec check`, `recipec launch` and `recipec import-manifest` warn about
environment variables of NCCL, of aws-ofi-nccl and of libfabric that do nothing, are
outdated or harm. NVIDIA advises against setting them in production: leave out what
you have not measured. `recipec explain NAME` prints what is known about one, and
`silence` of a recipe keeps the warnings of a kind away. Defaults are those of NCCL
2.30. This page is the output of `recipec doc variables`.

## Mistakes

| variable | finding | instead | warning |
|---|---|---|---|
)";
  for (const Mistake& each : knownMistakes())
    page += "| `" + subjectOf(each) + "` | " +
            std::string(whereText(each.where)) + std::string(each.reason) +
            (each.evidence.empty() ? "" : "; " + std::string(each.evidence)) +
            " | " + std::string(each.remedy) + " | " +
            std::string(diag::kindName(each.kind)) + " |\n";
  page += R"(
Besides these: names that NCCL does not read, values that it does not accept, values
that equal the default, one algorithm or protocol forced for messages of all sizes,
legacy integers of `NCCL_P2P_LEVEL` and `NCCL_NET_GDR_LEVEL`, and variables that
exclude each other, such as `NCCL_IB_DISABLE=1` and `NCCL_IB_HCA`.

## Defaults

| variable | meaning | default | values | since |
|---|---|---|---|---|
)";
  for (const Known& each : knownVariables())
    page += "| `" + std::string(each.name) + "` | " +
            std::string(each.purpose) + " | " + std::string(each.usual) +
            " | " + valuesText(each) + " | " + std::string(each.since) + " |\n";
  return page;
}

} // namespace recipec::environment
