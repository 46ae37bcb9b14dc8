// Lists and removes objects, and uploads that nobody will finish.

#include "runtime/storage/Digests.h"
#include "runtime/storage/S3Store.h"
#include "runtime/storage/Times.h"
#include "runtime/storage/Xml.h"

#include <algorithm>
#include <charconv>
#include <cstdlib>

namespace reciperun::storage {
namespace {

constexpr size_t mostRemoved = 1000; // by one request

int digitOf(char c) {
  int value = -1;
  std::from_chars(&c, &c + 1, value, 16);
  return value;
}

/// Decodes `%2F` and `+`.
std::string decode(const std::string& text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    const bool isCode = text[i] == '%' && i + 2 < text.size() &&
                        digitOf(text[i + 1]) >= 0 && digitOf(text[i + 2]) >= 0;
    if (isCode) {
      out += char(digitOf(text[i + 1]) * 16 + digitOf(text[i + 2]));
      i += 2;
      continue;
    }
    out += text[i] == '+' ? ' ' : text[i];
  }
  return out;
}

/// A page of a list; keys are encoded, since XML cannot hold all of them.
struct ListPage {
  XmlElement root;
  bool isEncoded = false;

  std::string key(const XmlElement& element, const char* child) const {
    const std::string text = element.textOf(child);
    return isEncoded ? decode(text) : text;
  }
  bool isTruncated() const { return root.textOf("IsTruncated") == "true"; }
};

Expected<ListPage> fetchPage(S3Client& client, const std::string& bucket,
                             const NameValues& query) {
  S3Request request;
  request.action = "list";
  request.address = {bucket, {}};
  for (const auto& [name, value] : query)
    if (name == "prefix")
      request.folder = value.substr(0, value.find_last_not_of('/') + 1);
  request.query = query;
  request.query.emplace_back("encoding-type", "url");
  Expected<S3Answer> answer = client.demand(request);
  RECIPERUN_TRY(answer);
  Expected<XmlElement> root = parseXml(answer->http.body);
  RECIPERUN_TRY(
      root.status().withContext("the list of `" + request.place() + "`"));
  const bool isEncoded = root->textOf("EncodingType") == "url";
  return ListPage{*std::move(root), isEncoded};
}

} // namespace

/// The beginning of all keys in a folder.
std::string S3Store::prefixOf(std::string_view folder) const {
  const std::string key = (rootAddress / folder).key;
  return key.empty() ? "" : key + "/";
}

/// A key relative to the root.
std::string S3Store::nameOf(const std::string& key) const {
  const size_t root = rootAddress.key.empty() ? 0 : rootAddress.key.size() + 1;
  return key.substr(std::min(root, key.size()));
}

/// Reads all pages of a list. Keys that end in a slash mark folders without
/// objects and are skipped.
Status S3Store::eachPage(const std::string& prefix, bool isDeep,
                         Listing& listing) {
  std::string token;
  for (;;) {
    NameValues query = {{"list-type", "2"}, {"prefix", prefix}};
    if (!isDeep)
      query.emplace_back("delimiter", "/");
    if (!token.empty())
      query.emplace_back("continuation-token", token);
    const auto page = fetchPage(*client, rootAddress.bucket, query);
    RECIPERUN_TRY(page);
    for (const XmlElement& child : page->root.children) {
      if (child.name == "CommonPrefixes") {
        std::string key = page->key(child, "Prefix");
        if (key.ends_with('/'))
          key.pop_back();
        listing.folders.push_back(nameOf(key));
      }
      const std::string key = page->key(child, "Key");
      if (child.name != "Contents" || key.ends_with('/'))
        continue;
      std::string etag = child.textOf("ETag");
      std::erase(etag, '"');
      listing.objects.push_back(
          {nameOf(key),
           std::atoll(child.textOf("Size").c_str()),
           etag,
           parseIsoTime(child.textOf("LastModified")).value_or(0),
           {}});
    }
    token = page->root.textOf("NextContinuationToken");
    if (!page->isTruncated())
      break;
    if (token.empty())
      return Status::error("cannot list `" + rootText +
                           "`: the store's list has no end");
  }
  std::ranges::sort(listing.objects, {}, &Object::name);
  std::ranges::sort(listing.folders);
  return Status::ok();
}

Expected<Listing> S3Store::list(std::string_view folder) {
  Listing listing;
  RECIPERUN_TRY(eachPage(prefixOf(folder), false, listing));
  return listing;
}

Expected<std::vector<Object>> S3Store::listAll(std::string_view folder) {
  Listing listing;
  RECIPERUN_TRY(eachPage(prefixOf(folder), true, listing));
  return std::move(listing.objects);
}

// ---- remove

Status S3Store::removeSome(std::span<const std::string> names) {
  std::string body =
      "<Delete xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">";
  for (const std::string& name : names)
    body += "<Object><Key>" + escapeXml((rootAddress / name).key) +
            "</Key></Object>";
  body += "<Quiet>true</Quiet></Delete>";
  S3Request request;
  request.action = "remove objects of";
  request.method = "POST";
  request.address = {rootAddress.bucket, {}};
  request.folder = rootAddress.key;
  request.query = {{"delete", ""}};
  request.headers = {{"content-md5", md5Base64(body)},
                     {"content-type", "application/xml"}};
  request.body = std::as_bytes(std::span(body));
  const Expected<S3Answer> answer = client->demand(request);
  RECIPERUN_TRY(answer);
  const Expected<XmlElement> root = parseXml(answer->http.body);
  const XmlElement* error = root ? root->find("Error") : nullptr;
  if (!error)
    return Status::ok();
  return Status::error("cannot remove `" +
                       textOf(nameOf(error->textOf("Key"))) +
                       "`: the store answers " + error->textOf("Code"));
}

Status S3Store::remove(const std::vector<std::string>& names) {
  if (names.size() == 1) {
    S3Request request;
    request.action = "remove";
    request.method = "DELETE";
    request.address = rootAddress / names[0];
    const Expected<S3Answer> answer = client->send(request);
    RECIPERUN_TRY(answer);
    const bool isGone = answer->isSuccess() || answer->code == "NoSuchKey";
    return isGone ? Status::ok() : client->failure(request, *answer);
  }
  for (size_t begin = 0; begin < names.size(); begin += mostRemoved)
    RECIPERUN_TRY(removeSome(std::span(names).subspan(
        begin, std::min(mostRemoved, names.size() - begin))));
  return Status::ok();
}

// ---- uploads in parts

Expected<std::vector<OpenUpload>>
S3Store::openUploads(std::string_view folder) {
  std::vector<OpenUpload> uploads;
  std::string key, id;
  for (;;) {
    NameValues query = {{"uploads", ""}, {"prefix", prefixOf(folder)}};
    if (!key.empty()) {
      query.emplace_back("key-marker", key);
      query.emplace_back("upload-id-marker", id);
    }
    const auto page = fetchPage(*client, rootAddress.bucket, query);
    RECIPERUN_TRY(page);
    for (const XmlElement& child : page->root.children)
      if (child.name == "Upload")
        uploads.push_back(
            {nameOf(page->key(child, "Key")), child.textOf("UploadId"),
             parseIsoTime(child.textOf("Initiated")).value_or(0)});
    const std::string next = page->key(page->root, "NextKeyMarker");
    const std::string nextId = page->root.textOf("NextUploadIdMarker");
    if (!page->isTruncated() || next.empty() || (next == key && nextId == id))
      return uploads;
    key = next;
    id = nextId;
  }
}

Status S3Store::discard(const OpenUpload& upload) {
  S3Request request;
  request.action = "discard an upload of";
  request.method = "DELETE";
  request.address = rootAddress / upload.name;
  request.query = {{"uploadId", upload.id}};
  const Expected<S3Answer> answer = client->send(request);
  RECIPERUN_TRY(answer);
  const bool isGone = answer->isSuccess() || answer->code == "NoSuchUpload";
  return isGone ? Status::ok() : client->failure(request, *answer);
}

} // namespace reciperun::storage
