// See Address.h.

#include "runtime/storage/Address.h"

#include <algorithm>
#include <cctype>

namespace reciperun::storage {
namespace {

constexpr std::string_view scheme = "s3://";
constexpr size_t longestKey = 1024; // bytes; "Object key names", Amazon S3

Status invalid(std::string_view text, const std::string& reason,
               const std::string& remedy) {
  return Status::error("`" + std::string(text) +
                       "` is no address of an object: " + reason + "; " +
                       remedy);
}

/// Why a bucket cannot have this name; empty if it can.
std::string faultOfBucket(std::string_view name) {
  if (name.empty())
    return "the name of the bucket is missing";
  const std::string quoted = "the bucket's name `" + std::string(name) + "` ";
  if (name.size() < 3 || name.size() > 63)
    return quoted + "has " + std::to_string(name.size()) +
           " characters, and 3 to 63 are allowed";
  for (const char c : name)
    if (!std::islower(static_cast<unsigned char>(c)) &&
        !std::isdigit(static_cast<unsigned char>(c)) && c != '-' && c != '.')
      return quoted + "has the character `" + std::string(1, c) +
             "`, and only lower-case letters, digits, hyphens and dots are "
             "allowed";
  const auto isEdge = [](char c) { return c == '-' || c == '.'; };
  if (isEdge(name.front()) || isEdge(name.back()))
    return quoted + "must begin and end with a letter or a digit";
  if (name.find("..") != name.npos)
    return quoted + "has two dots in a row";
  return "";
}

/// Why a key cannot be this text; empty if it can. Signed requests of keys with
/// `.` and `..` differ between clients, and a local copy could leave its
/// folder.
std::string faultOfKey(std::string_view key) {
  if (key.size() > longestKey)
    return "its key has " + std::to_string(key.size()) + " bytes, and " +
           std::to_string(longestKey) + " are allowed";
  if (std::ranges::any_of(key, [](char c) {
        return static_cast<unsigned char>(c) < 0x20 || c == 0x7f;
      }))
    return "its key has a control character";
  for (size_t begin = 0; begin < key.size();) {
    const size_t end = std::min(key.find('/', begin), key.size());
    const std::string_view name = key.substr(begin, end - begin);
    if (name.empty())
      return "a name between two slashes is empty";
    if (name == "." || name == "..")
      return "`" + std::string(name) + "` is no name in a store";
    begin = end + 1;
  }
  return "";
}

} // namespace

std::string Address::text() const {
  return std::string(scheme) + bucket + (key.empty() ? "" : "/" + key);
}

Address operator/(const Address& folder, std::string_view name) {
  const char* slash = folder.key.empty() || name.empty() ? "" : "/";
  return {folder.bucket, folder.key + slash + std::string(name)};
}

bool isAddress(std::string_view text) {
  return text.starts_with("s3:");
}

Expected<Address> parseAddress(std::string_view text) {
  if (!text.starts_with(scheme)) {
    const size_t colon = text.find("://");
    const std::string reason =
        colon != text.npos
            ? "its scheme is `" + std::string(text.substr(0, colon)) + "`"
            : "it does not begin with `s3://`";
    return invalid(text, reason, "write `s3://BUCKET/KEY`");
  }
  std::string_view rest = text.substr(scheme.size());
  while (rest.ends_with('/'))
    rest.remove_suffix(1);
  const size_t slash = std::min(rest.find('/'), rest.size());
  Address address{std::string(rest.substr(0, slash)), {}};
  if (slash < rest.size())
    address.key = rest.substr(slash + 1);
  if (const std::string fault = faultOfBucket(address.bucket); !fault.empty())
    return invalid(text, fault, "write `s3://BUCKET/KEY`");
  if (const std::string fault = faultOfKey(address.key); !fault.empty())
    return invalid(text, fault, "name the object by another key");
  return address;
}

} // namespace reciperun::storage
