// 1. The canonical request: method, path, query, headers, hash of the body.
// 2. The text to sign: time, scope, hash of the canonical request.
// 3. The key: HMACs of date, region and service.
// 4. The signature: the HMAC of 2 by 3.

#include "runtime/storage/Signature.h"

#include "runtime/storage/Digests.h"

#include <algorithm>
#include <cctype>

namespace reciperun::storage {
namespace {

constexpr const char* algorithm = "AWS4-HMAC-SHA256";

std::string encode(std::string_view text, std::string_view kept) {
  constexpr std::string_view digits = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) || kept.find(c) != kept.npos) {
      out += c;
      continue;
    }
    out += '%';
    out += digits[byte >> 4];
    out += digits[byte & 15];
  }
  return out;
}

/// A header's value without spaces at its ends, runs of spaces as one.
std::string trimmed(std::string_view value) {
  std::string out;
  for (const char c : value)
    if (c != ' ' || (!out.empty() && out.back() != ' '))
      out += c;
  while (out.ends_with(' '))
    out.pop_back();
  return out;
}

} // namespace

std::string encodeText(std::string_view text) {
  return encode(text, "-._~");
}

std::string encodePath(std::string_view path) {
  return encode(path, "-._~/");
}

std::string encodeQuery(const NameValues& query) {
  NameValues encoded;
  for (const auto& [name, value] : query)
    encoded.emplace_back(encodeText(name), encodeText(value));
  std::ranges::sort(encoded);
  std::string text;
  for (const auto& [name, value] : encoded)
    text += (text.empty() ? "" : "&") + name + "=" + value;
  return text;
}

std::string amzDate(std::time_t time) {
  std::tm parts = {};
  gmtime_r(&time, &parts);
  char text[32];
  std::strftime(text, sizeof text, "%Y%m%dT%H%M%SZ", &parts);
  return text;
}

std::string authorization(const RequestHead& request,
                          const std::string& payloadHash, const SigningKey& key,
                          std::time_t time) {
  NameValues headers = request.headers;
  headers.emplace_back("host", request.host);
  std::ranges::sort(headers);
  std::string lines, names;
  for (const auto& [name, value] : headers) {
    lines += name + ":" + trimmed(value) + "\n";
    names += (names.empty() ? "" : ";") + name;
  }
  const std::string canonical = request.method + "\n" + request.path + "\n" +
                                encodeQuery(request.query) + "\n" + lines +
                                "\n" + names + "\n" + payloadHash;
  const std::string stamp = amzDate(time), date = stamp.substr(0, 8);
  const std::string scope =
      date + "/" + key.region + "/" + key.service + "/aws4_request";
  const std::string toSign = std::string(algorithm) + "\n" + stamp + "\n" +
                             scope + "\n" + sha256Hex(canonical);
  std::string derived = "AWS4" + key.secretKey;
  for (const std::string_view part :
       {std::string_view(date), std::string_view(key.region),
        std::string_view(key.service), std::string_view("aws4_request")})
    derived = hmacSha256(derived, part);
  return std::string(algorithm) + " Credential=" + key.accessKey + "/" + scope +
         ",SignedHeaders=" + names +
         ",Signature=" + hexOf(hmacSha256(derived, toSign));
}

} // namespace reciperun::storage
