// The certificate and the rules of a server's TLS connections, by OpenSSL.

#ifndef RECIPERUN_SERVER_HTTP_TLSCONTEXT_H
#define RECIPERUN_SERVER_HTTP_TLSCONTEXT_H

#include "runtime/base/Status.h"

#include <memory>
#include <string>

struct ssl_ctx_st;
struct ssl_st;

namespace reciperun::server {

/// Whether clients have to show a certificate, with the numbers of Python's
/// `ssl`, which vLLM's option takes.
enum class ClientCertificates { none = 0, optional = 1, required = 2 };

/// Files in PEM form.
struct TlsFiles {
  std::string certificate;       // and the certificates that it was signed with
  std::string key;               // empty: it is in the file of the certificate
  std::string clientAuthorities; // who signs the certificates of clients
  ClientCertificates demand = ClientCertificates::none;
};

/// TLS 1.2 and 1.3. Belongs to the server's thread.
class TlsContext {
public:
  /// Reads the files. Fails, naming the file and the cause, when one cannot be
  /// read or when the key is not the certificate's.
  static Expected<std::unique_ptr<TlsContext>> open(TlsFiles files);
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ~TlsContext();

  /// Reads the files again, for new connections. After a failure the previous
  /// files stay in use.
  Status reload();

  /// The state of a new connection; null when memory is short.
  ssl_st* newConnection() const;

private:
  explicit TlsContext(TlsFiles files) : files(std::move(files)) {}

  TlsFiles files;
  ssl_ctx_st* context = nullptr;
};

} // namespace reciperun::server

#endif // RECIPERUN_SERVER_HTTP_TLSCONTEXT_H
