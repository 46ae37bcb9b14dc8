// The profiles in ~/.aws/config and ~/.aws/credentials ("Configuration and
// credential file settings in the AWS CLI", AWS CLI User Guide).

#ifndef RECIPERUN_STORAGE_PROFILE_H
#define RECIPERUN_STORAGE_PROFILE_H

#include "runtime/base/Status.h"

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace reciperun::storage {

/// Looks up an environment variable; an empty one counts as missing.
using Environment =
    std::function<std::optional<std::string>(const std::string& name)>;

/// The variables of this process.
std::optional<std::string> processEnvironment(const std::string& name);

/// The settings of one section. Those of a nested block, such as `s3 =`, have
/// its name before theirs: `s3.addressing_style`.
using ProfileSettings = std::map<std::string, std::string>;

/// The sections of a file, by their names.
using ProfileFile = std::map<std::string, ProfileSettings>;

/// Parses a file's text. Fails with the line that is no section, setting or
/// comment; no message repeats a value.
Expected<ProfileFile> parseProfiles(std::string_view text);

/// The profiles of both files, and the name of the one in use.
class Profiles {
public:
  /// Reads AWS_CONFIG_FILE and AWS_SHARED_CREDENTIALS_FILE, or the files in
  /// ~/.aws. Files that do not exist, and /dev/null, are empty. The profile in
  /// use is that of AWS_PROFILE, AWS_DEFAULT_PROFILE or `default`; fails when
  /// one that a variable names does not exist.
  static Expected<Profiles> read(const Environment& environment);

  const std::string& name() const { return used; }
  /// A setting of the profile in use. Credentials take precedence over config.
  std::optional<std::string> find(const std::string& setting) const;
  std::optional<std::string> find(const std::string& profile,
                                  const std::string& setting) const;
  bool has(const std::string& profile) const;
  /// The settings of another kind of section: `services NAME`.
  const ProfileSettings* section(const std::string& name) const;

private:
  ProfileFile config;
  ProfileFile credentials;
  std::string used;
};

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_PROFILE_H
