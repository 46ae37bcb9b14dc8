// Addresses of objects: `s3://bucket/key`.

#ifndef RECIPERUN_STORAGE_ADDRESS_H
#define RECIPERUN_STORAGE_ADDRESS_H

#include "runtime/base/Status.h"

#include <string>
#include <string_view>

namespace reciperun::storage {

/// An object, or a folder: the objects whose keys begin with `key` and a slash.
/// The empty key is the whole bucket.
struct Address {
  std::string bucket;
  /// Names with one slash between them, none before the first or after the
  /// last. At most 1024 bytes of UTF-8.
  std::string key;

  bool operator==(const Address&) const = default;
  /// `s3://bucket/key`.
  std::string text() const;
};

/// `folder/name`.
Address operator/(const Address& folder, std::string_view name);

/// Whether a text is an address rather than a local path: it begins with `s3:`.
bool isAddress(std::string_view text);

/// Parses `s3://bucket/key`; slashes at the end are ignored. Fails with the
/// address, what is wrong with it and what to write instead: another scheme, a
/// bucket's name that S3 does not allow ("Bucket naming rules", Amazon S3 User
/// Guide), an empty name, `.` or `..` in the key, a control character.
Expected<Address> parseAddress(std::string_view text);

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_ADDRESS_H
