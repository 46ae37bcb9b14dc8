// See CredentialServices.h. Messages repeat no answer's body: it may have keys.

#include "runtime/storage/CredentialServices.h"

#include "runtime/base/InputFile.h"
#include "runtime/base/ParseJson.h"
#include "runtime/storage/Digests.h"
#include "runtime/storage/Times.h"
#include "runtime/storage/Xml.h"

#include <nlohmann/json.hpp>

#include <array>
#include <cstdio>
#include <sys/wait.h>

namespace reciperun::storage {
namespace {

constexpr int serviceAttempts = 4;
constexpr double serviceBackoff = 0.1;
constexpr size_t answerLimit = 1 << 20;

/// Sends a request, several times if it may succeed later.
HttpAnswer ask(HttpClient& http, HttpRequest request,
               int attempts = serviceAttempts) {
  request.bodyLimit = answerLimit;
  for (int number = 1;; ++number) {
    HttpAnswer answer = http.send(request);
    const bool mayLater = answer.isComplete()
                              ? answer.status >= 500 || answer.status == 429
                              : answer.isTransient;
    if (!mayLater || number >= attempts)
      return answer;
    backOff(number, serviceBackoff);
  }
}

/// `answers 403`, or why there is no answer.
std::string outcomeOf(const HttpAnswer& answer) {
  return answer.isComplete() ? "answers " + std::to_string(answer.status)
                             : "gives no answer: " + answer.failure;
}

std::string strip(std::string text) {
  while (!text.empty() &&
         (text.back() == '\n' || text.back() == '\r' || text.back() == ' '))
    text.pop_back();
  return text;
}

// ---- JSON

Expected<Credentials> parseCredentials(const std::string& text,
                                       const char* tokenName) {
  const Expected<nlohmann::json> json = parseJson(text, {.noun = "answer"});
  RECIPERUN_TRY(json);
  const auto member = [&](const char* name) {
    const bool isText =
        json->is_object() && json->contains(name) && (*json)[name].is_string();
    return isText ? (*json)[name].get<std::string>() : std::string();
  };
  Credentials credentials{member("AccessKeyId"), member("SecretAccessKey"),
                          member(tokenName), std::nullopt};
  if (credentials.accessKey.empty() || credentials.secretKey.empty())
    return Status::error("the answer lacks `AccessKeyId` or `SecretAccessKey`");
  if (const std::string end = member("Expiration"); !end.empty()) {
    credentials.expires = parseIsoTime(end);
    if (!credentials.expires)
      return Status::error("its `Expiration` is no time");
  }
  return credentials;
}

// ---- STS

std::string stsUrl(const Settings& settings) {
  if (!settings.stsEndpoint.empty())
    return settings.stsEndpoint;
  const bool isChina = settings.region.starts_with("cn-");
  return "https://sts." + settings.region + ".amazonaws.com" +
         (isChina ? ".cn" : "");
}

Expected<Credentials> parseSts(const HttpAnswer& answer,
                               const std::string& action) {
  const Expected<XmlElement> root = parseXml(answer.body);
  if (!answer.isSuccess()) {
    const XmlElement* error = root ? root->find("Error") : nullptr;
    return Status::error("AWS STS " + outcomeOf(answer) +
                         (error ? " (" + error->textOf("Code") + ")" : "") +
                         " to " + action);
  }
  RECIPERUN_TRY(root.status().withContext("the answer of AWS STS"));
  const XmlElement* result = root->find(action + "Result");
  const XmlElement* given = result ? result->find("Credentials") : nullptr;
  if (!given || given->textOf("AccessKeyId").empty() ||
      given->textOf("SecretAccessKey").empty())
    return Status::error("the answer of AWS STS to " + action +
                         " has no credentials");
  return Credentials{
      given->textOf("AccessKeyId"), given->textOf("SecretAccessKey"),
      given->textOf("SessionToken"), parseIsoTime(given->textOf("Expiration"))};
}

/// The secrets of a request are in its body: URLs end up in logs of proxies.
HttpRequest stsRequest(const Settings& settings, const std::string& form) {
  HttpRequest request;
  request.method = "POST";
  request.url = stsUrl(settings) + "/";
  request.headers = {{"content-type", "application/x-www-form-urlencoded"}};
  request.body = std::as_bytes(std::span(form));
  request.caBundle = settings.caBundle;
  return request;
}

NameValues roleForm(const std::string& action, const Role& role) {
  return {{"Action", action},
          {"Version", "2011-06-15"},
          {"RoleArn", role.arn},
          {"RoleSessionName", role.session}};
}

} // namespace

Expected<Credentials> fetchWebIdentity(HttpClient& http,
                                       const Settings& settings,
                                       const Role& role,
                                       const std::string& tokenFile) {
  const auto token = readTextFile(tokenFile, answerLimit);
  RECIPERUN_TRY(token.status().withContext("the token of the web identity"));
  NameValues form = roleForm("AssumeRoleWithWebIdentity", role);
  form.emplace_back("WebIdentityToken", strip(*token));
  const std::string body = encodeQuery(form);
  return parseSts(ask(http, stsRequest(settings, body)),
                  "AssumeRoleWithWebIdentity");
}

Expected<Credentials>
fetchAssumedRole(HttpClient& http, const Settings& settings, const Role& role,
                 const std::string& externalId, const Credentials& own) {
  NameValues form = roleForm("AssumeRole", role);
  if (!externalId.empty())
    form.emplace_back("ExternalId", externalId);
  const std::string body = encodeQuery(form), hash = sha256Hex(body);
  HttpRequest request = stsRequest(settings, body);
  const std::time_t now = std::time(nullptr);
  request.headers.emplace_back("x-amz-date", amzDate(now));
  if (!own.sessionToken.empty())
    request.headers.emplace_back("x-amz-security-token", own.sessionToken);
  const std::string url = stsUrl(settings);
  const RequestHead head{
      "POST", url.substr(url.find("://") + 3), "/", {}, request.headers};
  request.headers.emplace_back(
      "authorization",
      authorization(head, hash,
                    {own.accessKey, own.secretKey, settings.region, "sts"},
                    now));
  return parseSts(ask(http, request), "AssumeRole");
}

// ---- services of the own host

Expected<Credentials> fetchContainer(HttpClient& http, const std::string& url,
                                     const std::string& authorization) {
  HttpRequest request;
  request.url = url;
  request.avoidsProxy = true;
  request.connectSeconds = 2;
  request.totalSeconds = 10;
  if (!authorization.empty())
    request.headers = {{"authorization", authorization}};
  const HttpAnswer answer = ask(http, request);
  if (!answer.isSuccess())
    return Status::error("the credentials of the container: `" + url + "` " +
                         outcomeOf(answer));
  const auto credentials = parseCredentials(answer.body, "Token");
  RECIPERUN_TRY(
      credentials.status().withContext("the credentials of the container"));
  return credentials;
}

Expected<Credentials> fetchInstance(HttpClient& http,
                                    const std::string& endpoint, double seconds,
                                    int attempts) {
  HttpRequest request;
  request.method = "PUT";
  request.url = endpoint + "/latest/api/token";
  request.headers = {{"x-aws-ec2-metadata-token-ttl-seconds", "21600"}};
  request.avoidsProxy = true;
  request.connectSeconds = seconds;
  request.totalSeconds = seconds;
  const HttpAnswer token = ask(http, request, attempts);
  const std::string service =
      "the instance metadata service at `" + endpoint + "` ";
  if (!token.isSuccess())
    return Status::error(service + outcomeOf(token));
  request.method = "GET";
  request.headers = {{"x-aws-ec2-metadata-token", strip(token.body)}};
  const std::string roles =
      endpoint + "/latest/meta-data/iam/security-credentials/";
  request.url = roles;
  const HttpAnswer role = ask(http, request, attempts);
  if (!role.isSuccess())
    return Status::error(service + outcomeOf(role) +
                         " to the question for the instance's role");
  request.url = roles + encodePath(strip(role.body));
  const HttpAnswer answer = ask(http, request, attempts);
  if (!answer.isSuccess())
    return Status::error(service + outcomeOf(answer) +
                         " to the question for credentials");
  const auto credentials = parseCredentials(answer.body, "Token");
  RECIPERUN_TRY(credentials.status().withContext("the credentials of the "
                                                 "instance"));
  return credentials;
}

// ---- programs

Expected<Credentials> fetchFromProcess(const std::string& command) {
  const std::string program = command.substr(0, command.find(' '));
  const std::string name = "the `credential_process` `" + program + "`";
  FILE* pipe = popen(command.c_str(), "re");
  if (!pipe)
    return Status::error(name + " cannot be started");
  std::string text;
  std::array<char, 4096> piece;
  while (const size_t count = fread(piece.data(), 1, piece.size(), pipe)) {
    if (text.size() + count <= answerLimit)
      text.append(piece.data(), count);
  }
  const int end = pclose(pipe);
  if (end != 0)
    return Status::error(name + " ends with exit code " +
                         std::to_string(WIFEXITED(end) ? WEXITSTATUS(end)
                                                       : 128 + WTERMSIG(end)));
  const auto credentials = parseCredentials(text, "SessionToken");
  RECIPERUN_TRY(credentials.status().withContext(name));
  return credentials;
}

} // namespace reciperun::storage
