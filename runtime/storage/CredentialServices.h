// Services that give temporary credentials: AWS STS, containers, instances, and
// programs that a profile names.

#ifndef RECIPERUN_STORAGE_CREDENTIALSERVICES_H
#define RECIPERUN_STORAGE_CREDENTIALSERVICES_H

#include "runtime/storage/Credentials.h"

namespace reciperun::storage {

/// A role to take on.
struct Role {
  std::string arn;
  std::string session; // a name for the role's records
};

/// AssumeRoleWithWebIdentity of STS with the token in a file, which is read
/// anew each time ("AWS STS API Reference").
Expected<Credentials> fetchWebIdentity(HttpClient& http,
                                       const Settings& settings,
                                       const Role& role,
                                       const std::string& tokenFile);

/// AssumeRole of STS, signed with other credentials.
Expected<Credentials>
fetchAssumedRole(HttpClient& http, const Settings& settings, const Role& role,
                 const std::string& externalId, const Credentials& own);

/// The credentials that a container's agent serves at a URL. `authorization`
/// is the value of that header; empty: none.
Expected<Credentials> fetchContainer(HttpClient& http, const std::string& url,
                                     const std::string& authorization);

/// The credentials of an EC2 instance's role (IMDSv2). `endpoint` is the
/// service's, `http://169.254.169.254`.
Expected<Credentials> fetchInstance(HttpClient& http,
                                    const std::string& endpoint, double seconds,
                                    int attempts);

/// The credentials that a shell command prints as JSON ("Sourcing credentials
/// with an external process", AWS CLI User Guide).
Expected<Credentials> fetchFromProcess(const std::string& command);

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_CREDENTIALSERVICES_H
