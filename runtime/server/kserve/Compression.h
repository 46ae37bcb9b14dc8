// Compression of bodies by zlib: the encodings `gzip` and `deflate` of HTTP.

#ifndef RECIPERUN_SERVER_KSERVE_COMPRESSION_H
#define RECIPERUN_SERVER_KSERVE_COMPRESSION_H

#include "runtime/base/Status.h"

#include <cstddef>
#include <string>
#include <string_view>

namespace reciperun::server {

enum class ContentCoding { identity, deflate, gzip };

/// `deflate` or `gzip`.
const char* nameOf(ContentCoding coding);

/// The encoding of a request's body by its header `Content-Encoding`. Fails for
/// one that is not supported.
Expected<ContentCoding> contentCodingOf(std::string_view header);

/// The encoding that a client likes best by its header `Accept-Encoding`. Of
/// equal weights, the first counts.
ContentCoding acceptedCodingOf(std::string_view header);

/// Fails when the bytes are damaged or the result has more than `mostBytes`.
Expected<std::string> decompress(std::string_view bytes, size_t mostBytes);

/// Fails when memory is short. The coding must not be `identity`.
Expected<std::string> compress(std::string_view bytes, ContentCoding coding);

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_KSERVE_COMPRESSION_H
