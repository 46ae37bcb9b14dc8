// See TlsContext.h.

#include "runtime/server/http/TlsContext.h"

#include "runtime/base/InputFile.h"

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <string_view>
#include <utility>

namespace reciperun::server {
namespace {

using ContextPointer = std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)>;

constexpr int64_t mostBytes = int64_t(16) << 20; // of a file

/// For TLS 1.2: forward secrecy and authenticated encryption.
constexpr const char* olderCiphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

/// Without it OpenSSL asks for the password of a key at the terminal.
int refusePassword(char*, int, int, void*) {
  return 0;
}

/// Chooses HTTP/1.1 of the protocols that a client offers. A client that offers
/// others alone is answered in HTTP/1.1.
int chooseProtocol(SSL*, const unsigned char** chosen, unsigned char* size,
                   const unsigned char* offered, unsigned offeredSize, void*) {
  static const unsigned char ours[] = "\x08http/1.1";
  unsigned char* found = nullptr;
  const int outcome = SSL_select_next_proto(&found, size, ours, sizeof ours - 1,
                                            offered, offeredSize);
  *chosen = found;
  return outcome == OPENSSL_NPN_NEGOTIATED ? SSL_TLSEXT_ERR_OK
                                           : SSL_TLSEXT_ERR_NOACK;
}

/// The failure of the last call of OpenSSL; the first entry has the cause.
Status opensslError(const std::string& what) {
  const char* const reason = ERR_reason_error_string(ERR_peek_error());
  ERR_clear_error();
  return Status::error(what + ": " + (reason ? reason : "unknown cause"));
}

/// OpenSSL does not say why it cannot open a file.
Status checkReadable(const std::string& path) {
  return readTextFile(path, mostBytes).status();
}

ContextPointer emptyContext() {
  ContextPointer made(SSL_CTX_new(TLS_server_method()), SSL_CTX_free);
  if (!made)
    return made;
  SSL_CTX_set_min_proto_version(made.get(), TLS1_2_VERSION);
  SSL_CTX_set_cipher_list(made.get(), olderCiphers);
  SSL_CTX_set_options(made.get(), SSL_OP_NO_RENEGOTIATION |
                                      SSL_OP_CIPHER_SERVER_PREFERENCE |
                                      SSL_OP_NO_COMPRESSION);
  // An idle connection holds no buffers, and sessions are in the tickets that
  // clients hold.
  SSL_CTX_set_mode(made.get(), SSL_MODE_RELEASE_BUFFERS);
  SSL_CTX_set_session_cache_mode(made.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_default_passwd_cb(made.get(), refusePassword);
  SSL_CTX_set_alpn_select_cb(made.get(), chooseProtocol, nullptr);
  return made;
}

Status loadCertificate(SSL_CTX* context, const TlsFiles& files) {
  const std::string& key = files.key.empty() ? files.certificate : files.key;
  RECIPERUN_TRY(checkReadable(files.certificate));
  RECIPERUN_TRY(checkReadable(key));
  ERR_clear_error();
  if (SSL_CTX_use_certificate_chain_file(context, files.certificate.c_str()) !=
      1)
    return opensslError("`" + files.certificate +
                        "` has no certificate in PEM form");
  if (SSL_CTX_use_PrivateKey_file(context, key.c_str(), SSL_FILETYPE_PEM) == 1)
    return Status::ok();
  if (ERR_GET_REASON(ERR_peek_last_error()) == X509_R_KEY_VALUES_MISMATCH)
    return opensslError("the key in `" + key +
                        "` is not that of the certificate in `" +
                        files.certificate + "`");
  return opensslError("`" + key + "` has no usable private key in PEM form");
}

Status loadAuthorities(SSL_CTX* context, const TlsFiles& files) {
  if (files.demand == ClientCertificates::none)
    return Status::ok();
  const char* const path = files.clientAuthorities.c_str();
  RECIPERUN_TRY(checkReadable(path));
  ERR_clear_error();
  STACK_OF(X509_NAME)* const names = SSL_load_client_CA_file(path);
  if (!names || SSL_CTX_load_verify_file(context, path) != 1)
    return opensslError("`" + files.clientAuthorities +
                        "` has no certificates in PEM form");
  SSL_CTX_set_client_CA_list(context, names);
  int mode = SSL_VERIFY_PEER;
  if (files.demand == ClientCertificates::required)
    mode |= SSL_VERIFY_FAIL_IF_NO_PEER_CERT;
  SSL_CTX_set_verify(context, mode, nullptr);
  // A resumed session is one of this server's clients.
  static constexpr unsigned char name[] = "reciperun";
  SSL_CTX_set_session_id_context(context, name, sizeof name - 1);
  return Status::ok();
}

} // namespace

Expected<std::unique_ptr<TlsContext>> TlsContext::open(TlsFiles files) {
  std::unique_ptr<TlsContext> made(new TlsContext(std::move(files)));
  RECIPERUN_TRY(made->reload());
  return made;
}

TlsContext::~TlsContext() {
  SSL_CTX_free(context);
}

Status TlsContext::reload() {
  ContextPointer made = emptyContext();
  if (!made)
    return opensslError("cannot set up TLS");
  RECIPERUN_TRY(loadCertificate(made.get(), files));
  RECIPERUN_TRY(loadAuthorities(made.get(), files));
  SSL_CTX_free(std::exchange(context, made.release()));
  return Status::ok();
}

ssl_st* TlsContext::newConnection() const {
  return SSL_new(context);
}

} // namespace reciperun::server
