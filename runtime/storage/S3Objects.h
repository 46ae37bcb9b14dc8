// What operations on single objects have in common: headers of preconditions
// and checksums, and what an answer says about an object.

#ifndef RECIPERUN_STORAGE_S3OBJECTS_H
#define RECIPERUN_STORAGE_S3OBJECTS_H

#include "runtime/storage/ObjectStore.h"
#include "runtime/storage/S3Client.h"

namespace reciperun::storage {

inline constexpr const char* crc32cHeader = "x-amz-checksum-crc32c";
inline constexpr const char* checksumTypeHeader = "x-amz-checksum-type";
/// The checksum is that of all bytes, not of the checksums of parts.
inline constexpr const char* wholeObject = "FULL_OBJECT";

/// `if-none-match: *` or `if-match: "..."`.
void addPrecondition(const Precondition& precondition, S3Request& request);

/// Whether an ETag is the MD5 of the object's bytes, as far as can be told from
/// the headers beside it: encryption with keys of one's own changes it.
bool isMd5(const std::string& etag, const HttpAnswer& answer);

/// The ETag of an answer, without quotes.
std::string etagOf(const HttpAnswer& answer);
/// The CRC32C of the object's bytes, if the answer has it.
std::optional<uint32_t> crc32cOf(const HttpAnswer& answer);

/// Size, ETag, time and checksum from the answer to HEAD or GET.
Object describeObject(std::string name, const HttpAnswer& answer);

/// HEAD: nullopt when there is no object.
Expected<std::optional<Object>>
findObject(S3Client& client, const Address& address, std::string name);

/// PUT of a whole object by one request.
Expected<Object> putObject(S3Client& client, const Address& address,
                           std::string name, std::span<const std::byte> data,
                           const Precondition& precondition);

} // namespace reciperun::storage

#endif // RECIPERUN_STORAGE_S3OBJECTS_H
