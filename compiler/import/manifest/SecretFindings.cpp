// Passwords and tokens in plain text; see Findings.h. Messages never have the
// value.

#include "compiler/import/manifest/Findings.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace recipec::importer::manifest {
namespace {

using diag::Kind;

bool isSecretName(std::string_view name) {
  constexpr std::array<std::string_view, 8> ends = {
      "TOKEN",   "PASSWORD",          "PASSWD", "SECRET",
      "API_KEY", "SECRET_ACCESS_KEY", "APIKEY", "PRIVATE_KEY"};
  std::string upper;
  for (const char c : name)
    upper += char(std::toupper(static_cast<unsigned char>(c)));
  return std::any_of(ends.begin(), ends.end(), [&](std::string_view end) {
    return upper.ends_with(end);
  });
}

/// Beginnings of the tokens of Hugging Face, NVIDIA, AWS, GitHub and OpenAI.
bool isSecretValue(std::string_view value) {
  constexpr std::array<std::string_view, 7> begins = {
      "hf_", "nvapi-", "AKIA", "ghp_", "github_pat_", "sk-", "glpat-"};
  constexpr size_t shortest = 16;
  return value.size() >= shortest &&
         std::any_of(begins.begin(), begins.end(), [&](std::string_view begin) {
           return value.starts_with(begin);
         });
}

/// Whether a value refers to another place: `$(TOKEN)`, `/run/secrets/token`.
bool isReference(std::string_view value) {
  return value.empty() || value.starts_with('$') || value.starts_with('/') ||
         value.starts_with('<') || value == "true" || value == "false";
}

/// `place` is the name. An excerpt of its line would show a value beside it, so
/// that the message then has the place alone.
void reportSecret(const Node& place, const Node& value, const std::string& name,
                  diag::Engine& engine) {
  const SourceMap& sources = place.sourceMap();
  const SourceRange range =
      place.name() == "name" ? place.range() : place.nameRange();
  const auto lineOf = [&](SourceRange each) {
    return sources.lineColumn(each.source, each.begin).line;
  };
  const bool isBeside = lineOf(range) == lineOf(value.valueRange());
  engine
      .report(Kind::ManifestSecret, isBeside ? SourceRange{} : range,
              "the value of `" + name + "` stands in the manifest, " +
                  (isBeside ? "at " + sources.describe(range) + ", " : "") +
                  "where all who read it have it")
      .help("keep it in a Secret, and write `valueFrom: { secretKeyRef: { "
            "name: NAME, key: KEY } }`; replace the value, which is known now");
}

} // namespace

bool isSecretVariable(std::string_view name, std::string_view value) {
  return !isReference(value) && (isSecretName(name) || isSecretValue(value));
}

void checkSecrets(const Manifest& manifest, diag::Engine& engine) {
  for (const Pod& pod : manifest.pods)
    for (const Node& container : pod.containers())
      for (const Node& each : container["env"].elements()) {
        const std::string name = each["name"].text(),
                          value = each["value"].text();
        if (isSecretVariable(name, value))
          reportSecret(each["name"], each["value"], name, engine);
      }
  for (const Object& object : manifest.objects)
    if (object.is("ConfigMap"))
      for (const Node& each : object.root["data"].fields())
        if (each.text().find('\n') == std::string::npos &&
            isSecretVariable(each.name(), each.text()))
          reportSecret(each, each, each.name(), engine);
}

} // namespace recipec::importer::manifest
