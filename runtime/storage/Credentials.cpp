// See Credentials.h.

#include "runtime/storage/Credentials.h"

#include "runtime/base/InputFile.h"
#include "runtime/storage/CredentialServices.h"

#include <charconv>

namespace reciperun::storage {
namespace {

constexpr std::time_t refreshSeconds = 300;
constexpr int64_t tokenLimit = 1 << 20;
constexpr const char* relativeUri = "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI";
constexpr const char* fullUri = "AWS_CONTAINER_CREDENTIALS_FULL_URI";

/// A source, or the reason why it is wrong. One that fetches nothing does not
/// apply.
using Found = Expected<CredentialSource>;

CredentialSource notGiven() {
  return {};
}

CredentialSource constantSource(std::string name, Credentials credentials) {
  return {std::move(name), [credentials] { return credentials; }};
}

class SourceFinder {
public:
  SourceFinder(const Environment& environment, const Profiles& profiles,
               const Settings& settings, HttpClient& http)
      : environment(environment), profiles(profiles), settings(settings),
        http(http) {}

  Expected<CredentialSource> find() const {
    for (const auto& part :
         {&SourceFinder::ofEnvironment, &SourceFinder::ofWebIdentity,
          &SourceFinder::ofUsedProfile, &SourceFinder::ofContainer,
          &SourceFinder::ofInstance}) {
      Found found = (this->*part)();
      RECIPERUN_TRY(found);
      if (found->fetch)
        return found;
    }
    return Status::error(
        "no credentials for object stores: set AWS_ACCESS_KEY_ID and "
        "AWS_SECRET_ACCESS_KEY, or write a profile with `aws configure`");
  }

private:
  Found ofEnvironment() const;
  Found ofWebIdentity() const;
  Found ofUsedProfile() const { return ofProfile(profiles.name(), 0); }
  Found ofProfile(const std::string& profile, int depth) const;
  Found roleOfProfile(const std::string& profile, const std::string& arn,
                      int depth) const;
  Found ofContainer() const;
  Found ofInstance() const;
  CredentialSource webIdentity(std::string name, const Role& role,
                               const std::string& tokenFile) const;
  std::string sessionName() const;

  const Environment& environment;
  const Profiles& profiles;
  const Settings& settings;
  HttpClient& http;
};

Found SourceFinder::ofEnvironment() const {
  const auto access = environment("AWS_ACCESS_KEY_ID");
  const auto secret = environment("AWS_SECRET_ACCESS_KEY");
  if (!access && !secret)
    return notGiven();
  if (!access || !secret)
    return Status::error(
        std::string("the environment has ") +
        (access ? "AWS_ACCESS_KEY_ID" : "AWS_SECRET_ACCESS_KEY") + " but not " +
        (access ? "AWS_SECRET_ACCESS_KEY" : "AWS_ACCESS_KEY_ID") +
        "; set both or none");
  const std::string token = environment("AWS_SESSION_TOKEN").value_or("");
  return constantSource("the environment",
                        {*access, *secret, token, std::nullopt});
}

std::string SourceFinder::sessionName() const {
  return environment("AWS_ROLE_SESSION_NAME").value_or("recipec");
}

CredentialSource SourceFinder::webIdentity(std::string name, const Role& role,
                                           const std::string& tokenFile) const {
  return {std::move(name),
          [&http = http, settings = settings, role, tokenFile] {
            return fetchWebIdentity(http, settings, role, tokenFile);
          }};
}

Found SourceFinder::ofWebIdentity() const {
  const auto file = environment("AWS_WEB_IDENTITY_TOKEN_FILE");
  if (!file)
    return notGiven();
  const auto arn = environment("AWS_ROLE_ARN");
  if (!arn)
    return Status::error("the environment has AWS_WEB_IDENTITY_TOKEN_FILE but "
                         "not AWS_ROLE_ARN; set the role to take on");
  return webIdentity("the web identity of the environment",
                     {*arn, sessionName()}, *file);
}

Found SourceFinder::ofProfile(const std::string& profile, int depth) const {
  const std::string name = "profile `" + profile + "`";
  const auto setting = [&](const char* which) {
    return profiles.find(profile, which);
  };
  // A role that names its own profile as the source takes that one's keys.
  if (const auto arn = setting("role_arn"); arn && depth < 8)
    if (setting("source_profile") != profile || depth == 0)
      return roleOfProfile(profile, *arn, depth);
  const auto access = setting("aws_access_key_id");
  const auto secret = setting("aws_secret_access_key");
  if (access && secret)
    return constantSource(name, {*access, *secret,
                                 setting("aws_session_token").value_or(""),
                                 std::nullopt});
  if (access || secret)
    return Status::error(name + " has only one of `aws_access_key_id` and "
                                "`aws_secret_access_key`; write both");
  if (const auto command = setting("credential_process"))
    return CredentialSource{name,
                            [command] { return fetchFromProcess(*command); }};
  if (setting("sso_session") || setting("sso_start_url"))
    return Status::error(
        name +
        " signs in by SSO, which is not supported; give a profile with "
        "`credential_process = aws configure export-credentials "
        "--profile " +
        profile + " --format process`");
  return notGiven();
}

Found SourceFinder::roleOfProfile(const std::string& profile,
                                  const std::string& arn, int depth) const {
  const std::string name = "profile `" + profile + "`";
  const Role role{
      arn, profiles.find(profile, "role_session_name").value_or(sessionName())};
  if (const auto file = profiles.find(profile, "web_identity_token_file"))
    return webIdentity(name, role, *file);
  const auto source = profiles.find(profile, "source_profile");
  const auto kind = profiles.find(profile, "credential_source");
  if (!source && !kind)
    return Status::error(name + " has a `role_arn` without "
                                "`web_identity_token_file`, `source_profile` "
                                "or `credential_source`; write one of them");
  if (source && !profiles.has(*source))
    return Status::error(name + " has the `source_profile` `" + *source +
                         "`, which does not exist");
  Found own = source                    ? ofProfile(*source, depth + 1)
              : *kind == "Environment"  ? ofEnvironment()
              : *kind == "EcsContainer" ? ofContainer()
                                        : ofInstance();
  RECIPERUN_TRY(own);
  if (!own->fetch)
    return Status::error("the source of the role of " + name +
                         " has no credentials");
  const std::string external =
      profiles.find(profile, "external_id").value_or("");
  return CredentialSource{name,
                          [&http = http, settings = settings, role, external,
                           fetch = own->fetch]() -> Expected<Credentials> {
                            const Expected<Credentials> keys = fetch();
                            RECIPERUN_TRY(keys);
                            return fetchAssumedRole(http, settings, role,
                                                    external, *keys);
                          }};
}

/// Whether a token may be sent to this URL: over TLS, or to the own host.
bool isSafeForToken(const std::string& url) {
  if (url.starts_with("https://"))
    return true;
  for (const std::string host :
       {"169.254.170.2", "169.254.170.23", "[fd00:ec2::23]", "127.0.0.1",
        "localhost", "[::1]"})
    if (url.starts_with("http://" + host + "/") ||
        url.starts_with("http://" + host + ":"))
      return true;
  return false;
}

Found SourceFinder::ofContainer() const {
  const auto relative = environment(relativeUri);
  const auto full = environment(fullUri);
  if (!relative && !full)
    return notGiven();
  const std::string url = relative ? "http://169.254.170.2" + *relative : *full;
  if (!isSafeForToken(url))
    return Status::error(std::string(fullUri) + " is `" + url +
                         "`, and credentials are only fetched over `https` or "
                         "from the own host");
  const auto token = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN");
  const auto file = environment("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
  return CredentialSource{
      "the container",
      [&http = http, url, token, file]() -> Expected<Credentials> {
        std::string authorization = token.value_or("");
        if (file) { // read anew: it changes
          const auto text = readTextFile(*file, tokenLimit);
          RECIPERUN_TRY(text);
          authorization = text->substr(0, text->find_first_of("\r\n"));
        }
        return fetchContainer(http, url, authorization);
      }};
}

/// A variable's value as a number; `standard` if there is none.
int numberOf(const std::optional<std::string>& text, int standard) {
  int value = 0;
  if (!text ||
      std::from_chars(text->data(), text->data() + text->size(), value).ec !=
          std::errc())
    return standard;
  return value > 0 ? value : standard;
}

Found SourceFinder::ofInstance() const {
  if (environment("AWS_EC2_METADATA_DISABLED") == "true")
    return notGiven();
  std::string endpoint = environment("AWS_EC2_METADATA_SERVICE_ENDPOINT")
                             .value_or("http://169.254.169.254");
  while (endpoint.ends_with('/'))
    endpoint.pop_back();
  const int seconds = numberOf(environment("AWS_METADATA_SERVICE_TIMEOUT"), 1);
  const int attempts =
      numberOf(environment("AWS_METADATA_SERVICE_NUM_ATTEMPTS"), 2);
  return CredentialSource{
      "the instance's role",
      [&http = http, endpoint, seconds, attempts]() -> Expected<Credentials> {
        auto credentials = fetchInstance(http, endpoint, seconds, attempts);
        RECIPERUN_TRY(credentials.status().withContext(
            "no credentials for object stores in the environment, in the files "
            "of ~/.aws, from a container or from the instance; set "
            "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or write a profile "
            "with `aws configure`"));
        return credentials;
      }};
}

} // namespace

Expected<CredentialSource> findCredentials(const Environment& environment,
                                           const Profiles& profiles,
                                           const Settings& settings,
                                           HttpClient& http) {
  return SourceFinder(environment, profiles, settings, http).find();
}

Expected<Credentials> CredentialCache::get(std::time_t now) {
  const std::lock_guard lock(mutex);
  const bool isFresh =
      kept && (!kept->expires || *kept->expires - now > refreshSeconds);
  if (isFresh)
    return *kept;
  Expected<Credentials> fetched = source.fetch();
  if (fetched)
    kept = *fetched;
  else if (kept && *kept->expires > now)
    return *kept;
  return fetched;
}

void CredentialCache::drop(const std::string& accessKey) {
  const std::lock_guard lock(mutex);
  if (kept && kept->accessKey == accessKey)
    kept.reset();
}

} // namespace reciperun::storage
