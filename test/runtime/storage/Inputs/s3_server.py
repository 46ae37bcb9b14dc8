"""A small S3 server of the tests. It keeps objects in memory, checks signatures,
preconditions and checksums by the published rules of S3, and injects faults.

As a module: `with Server() as server: ...`, then `server.environment()` for
programs and `server.fail(...)`. As a program it runs a command with a server at
its side and ends with the command's exit code:

  s3_server.py [--bucket=NAME] [--botocore] [--unchecked] -- COMMAND...

(with --unchecked it computes no signatures and digests, for benchmarks).
The command finds AWS_ENDPOINT_URL and credentials in its environment. Faults are
set with `curl --data '[{"kind": "error", "status": 503}]' $S3_CONTROL/faults`;
`$S3_CONTROL/log` lists the requests. Keys of a fault:

  kind     error      answer `status` with `code`
           reset      close the connection after the request
           forget     carry the request out, then close the connection
           cut        send half of the body, then close the connection
           damage     change a byte of the body that is sent
           etag       answer with another ETag
           late       answer 200 with an error (CompleteMultipartUpload)
           slow       wait `seconds` before the answer
           stall      send half of the body, then wait `seconds`
           clock      set the server's clock `seconds` ahead, from this request on
  method, match       only requests of this method, of a target that has this text
  count, skip         how often (1), and how many requests pass before (0)

CRC32C is computed for bodies of up to 64 KiB: Python is slow. For larger ones
the header is taken as it is, once their SHA-256 has been compared.
"""

import argparse
import contextlib
import hashlib
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time
import uuid
import xml.etree.ElementTree as ElementTree
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qsl, quote, unquote, urlsplit
from xml.sax.saxutils import escape

import aws_services
from s3_signatures import SignatureError, check_signature, crc32c_text, join_crc32c

SMALLEST_PART = 5 << 20
CHECKED_CRC = 64 << 10
CONTROL = "/-control"


class S3Error(Exception):
    def __init__(self, status, code, message=""):
        super().__init__(code)
        self.status, self.code, self.message = status, code, message or code


class Fault:
    def __init__(self, kind, method=None, match=None, count=1, skip=0, **more):
        self.kind, self.method, self.match = kind, method, match
        self.count, self.skip, self.more = count, skip, more

    def applies(self, method, target):
        if self.count <= 0 or self.method not in (None, method):
            return False
        if self.match is not None and self.match not in target:
            return False
        if self.skip > 0:
            self.skip -= 1
            return False
        self.count -= 1
        return True


class Stored:
    """An object, or a part of one."""

    def __init__(self, body, etag=None, crc=None):
        self.body, self.crc = body, crc
        self.etag = etag or hashlib.md5(body).hexdigest()
        self.modified = time.time()


class Bucket:
    def __init__(self):
        self.objects = {}
        self.uploads = {}  # id: {"key", "parts", "started", "algorithm", "type"}


class QuietServer(ThreadingHTTPServer):
    request_queue_size = 128
    daemon_threads = True

    def __init__(self, *args):
        super().__init__(*args)
        self.connections = set()

    def process_request(self, request, client_address):
        self.connections.add(request)
        super().process_request(request, client_address)

    def close_request(self, request):
        self.connections.discard(request)
        super().close_request(request)

    def close_connections(self):
        for each in list(self.connections):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def handle_error(self, request, client_address):
        """Says nothing of clients that are killed or give up."""
        if not isinstance(sys.exc_info()[1], ConnectionError):
            super().handle_error(request, client_address)


class Server:
    """Listens at a free port from construction on, until `stop`."""

    access_key = "AKIDTESTTESTTESTTEST"
    secret_key = "secret/of/the+tests/0123456789abcdefghij"

    def __init__(self, buckets=("bucket",), botocore=False, port=0, checks=True):
        self.buckets = {name: Bucket() for name in buckets}
        self.keys = {self.access_key: (self.secret_key, "")}
        self.expired = set()  # access keys
        self.lock = threading.RLock()
        self.faults = []
        self.log = []
        self.clock = 0  # seconds by which the server's is ahead
        self.knows_checksums = self.knows_conditions = True
        self.page = 1000  # keys in an answer
        self.region = None  # answers others with a redirection
        self.botocore, self.checks = botocore, checks
        self.services = aws_services.Services(self)
        handler = type("BoundHandler", (Handler,), {"server_": self})
        self.http = QuietServer(("127.0.0.1", port), handler)
        self.port = self.http.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}"
        threading.Thread(target=self.http.serve_forever,
                         kwargs={"poll_interval": 0.02}, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def stop(self):
        self.http.shutdown()
        self.http.server_close()
        self.http.close_connections()

    def environment(self, **more):
        """The environment of a client, without settings of this user."""
        kept = {name: value for name, value in os.environ.items()
                if not name.startswith("AWS_")}
        return {**kept, "AWS_ENDPOINT_URL": self.url,
                "AWS_ACCESS_KEY_ID": self.access_key,
                "AWS_SECRET_ACCESS_KEY": self.secret_key,
                "AWS_CONFIG_FILE": "/dev/null",
                "AWS_SHARED_CREDENTIALS_FILE": "/dev/null",
                "AWS_EC2_METADATA_DISABLED": "true",
                "S3_CONTROL": self.url + CONTROL, **more}

    def fail(self, kind, **how):
        with self.lock:
            self.faults.append(Fault(kind, **how))

    def names(self, bucket="bucket"):
        with self.lock:
            return sorted(self.buckets[bucket].objects)

    def requests(self, method=None, match=""):
        with self.lock:
            return [each for each in self.log
                    if match in each["target"] and method in (None, each["method"])]

    def now(self):
        return time.time() + self.clock


def iso_time(seconds):
    return time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(seconds))


def element(name, *children, **texts):
    """XML text of an element; children are XML, texts are escaped."""
    inner = "".join(children) + "".join(
        f"<{key}>{escape(str(text))}</{key}>" for key, text in texts.items())
    return f"<{name}>{inner}</{name}>"


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server_ = None  # the Server

    def log_message(self, *_):
        pass

    # ---- requests

    def handle_any(self):
        server = self.server_
        self.body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        parts = urlsplit(self.path)
        self.query = dict(parse_qsl(parts.query, keep_blank_values=True))
        if parts.path.startswith(CONTROL):
            return self.control(parts.path[len(CONTROL):])
        with server.lock:
            fault = next((each for each in server.faults if
                          each.applies(self.command, self.path)), None)
            self.record = {"method": self.command, "target": self.path,
                           "headers": dict(self.headers), "status": 0}
            server.log.append(self.record)
        self.fault = fault.kind if fault else None
        self.more = fault.more if fault else {}
        if self.fault == "reset":
            return self.cut_connection()
        if self.fault == "clock":
            server.clock = self.more["seconds"]
        if self.fault == "slow":
            time.sleep(self.more.get("seconds", 5))
        try:
            if self.fault == "error":
                raise S3Error(self.more.get("status", 500),
                              self.more.get("code", "InternalError"),
                              self.more.get("message", ""))
            answer = server.services.answer(self) or self.s3(unquote(parts.path))
        except (S3Error, SignatureError) as error:
            answer = self.error_answer(error)
        self.send(*answer)

    do_GET = do_HEAD = do_PUT = do_POST = do_DELETE = handle_any

    def error_answer(self, error):
        headers = {"Content-Type": "application/xml"}
        if self.server_.region:
            headers["x-amz-bucket-region"] = self.server_.region
        text = element("Error", Code=error.code, Message=error.message,
                       **getattr(error, "more", {}))
        return error.status, headers, text.encode()

    def control(self, path):
        server = self.server_
        with server.lock:
            if path == "/faults":
                server.faults = [Fault(**each) for each in json.loads(self.body)]
            elif path == "/clock":
                server.clock = float(self.body)
            elif path == "/page":
                server.page = int(self.body)
            text = json.dumps(server.log).encode() if path == "/log" else b""
        self.record = {}
        self.fault, self.more = None, {}
        self.send(200, {}, text)

    # ---- answers

    def cut_connection(self):
        """Resets the connection instead of closing it in order."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER,
                                   struct.pack("ii", 1, 0))
        self.close_connection = True

    def send(self, status, headers, body):
        if self.fault == "forget":
            return self.cut_connection()
        if self.fault == "etag" and "ETag" in headers:
            headers["ETag"] = '"0123456789abcdef0123456789abcdef"'
        if self.fault == "damage" and body:
            body = bytes([body[0] ^ 1]) + bytes(body[1:])
        self.record["status"] = status
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        if "Content-Length" not in headers:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            return
        if self.fault in ("cut", "stall"):
            self.wfile.write(body[:len(body) // 2])
            self.wfile.flush()
            if self.fault == "stall":
                time.sleep(self.more.get("seconds", 5))
            return self.cut_connection()
        self.wfile.write(body)

    def date_time_string(self, timestamp=None):
        return formatdate(timestamp or self.server_.now(), usegmt=True)

    # ---- S3

    def s3(self, path):
        server = self.server_
        if server.checks:
            check_signature(server, self)
        _, name, *key = path.split("/", 2)
        key = key[0] if key else ""
        bucket = server.buckets.get(name)
        if bucket is None:
            raise S3Error(404, "NoSuchBucket", "The specified bucket does not exist")
        with server.lock:
            return self.operation(key)(bucket, key)

    def operation(self, key):
        query, method = self.query, self.command
        if method == "GET" and not key:
            return self.list_uploads if "uploads" in query else self.list_objects
        if method == "POST" and "delete" in query:
            return self.delete_many
        if method == "POST" and "uploads" in query:
            return self.create_upload
        if method == "POST" and "uploadId" in query:
            return self.complete_upload
        if method == "PUT" and "uploadId" in query:
            return self.put_part
        if method == "GET" and "uploadId" in query:
            return self.list_parts
        if method == "DELETE":
            return self.abort if "uploadId" in query else self.delete
        if method == "PUT" and key:
            return self.put
        if method in ("GET", "HEAD") and key:
            return self.get
        raise S3Error(501, "NotImplemented")

    def check_body(self):
        """The CRC32C that the body has, if its header says one."""
        declared = self.headers["x-amz-content-sha256"]
        if self.server_.checks and declared not in ("UNSIGNED-PAYLOAD", hashlib.sha256(self.body).hexdigest()):
            raise S3Error(400, "XAmzContentSHA256Mismatch")
        crc = self.headers.get("x-amz-checksum-crc32c")
        if not self.server_.knows_checksums:
            return None
        if crc and len(self.body) <= CHECKED_CRC and crc != crc32c_text(self.body):
            raise S3Error(400, "BadDigest", "The CRC32C you specified did not match")
        return crc

    def check_condition(self, bucket, key):
        old = bucket.objects.get(key)
        if not self.server_.knows_conditions:
            return
        if self.headers.get("If-None-Match") == "*" and old:
            raise S3Error(412, "PreconditionFailed")
        wanted = self.headers.get("If-Match")
        if wanted and not old:
            raise S3Error(404, "NoSuchKey")
        if wanted and wanted.strip('"') != old.etag:
            raise S3Error(412, "PreconditionFailed")

    def new_etag(self):
        return None if self.server_.checks else uuid.uuid4().hex + "-1"

    def put(self, bucket, key):
        crc = self.check_body()
        self.check_condition(bucket, key)
        made = bucket.objects[key] = Stored(self.body, self.new_etag(), crc)
        headers = {"ETag": f'"{made.etag}"'}
        if crc:
            headers["x-amz-checksum-crc32c"] = crc
        return 200, headers, b""

    def get(self, bucket, key):
        found = bucket.objects.get(key)
        if found is None:
            raise S3Error(404, "NoSuchKey", "The specified key does not exist.")
        self.check_condition(bucket, key)
        headers = {"ETag": f'"{found.etag}"', "Accept-Ranges": "bytes",
                   "Last-Modified": formatdate(found.modified, usegmt=True)}
        if found.crc and self.headers.get("x-amz-checksum-mode") == "ENABLED":
            headers["x-amz-checksum-crc32c"] = found.crc
            headers["x-amz-checksum-type"] = "FULL_OBJECT"
        wanted = self.headers.get("Range")
        if not wanted:
            headers["Content-Length"] = str(len(found.body))
            return 200, headers, found.body
        first, _, last = wanted.removeprefix("bytes=").partition("-")
        begin, end = int(first), len(found.body)
        if last:
            end = min(int(last) + 1, end)
        if begin >= len(found.body):
            raise S3Error(416, "InvalidRange")
        headers["Content-Range"] = f"bytes {begin}-{end - 1}/{len(found.body)}"
        return 206, headers, memoryview(found.body)[begin:end]

    def delete(self, bucket, key):
        bucket.objects.pop(key, None)
        return 204, {}, b""

    def delete_many(self, bucket, _):
        if self.headers.get("Content-MD5") is None:
            raise S3Error(400, "InvalidRequest", "Missing required header: Content-MD5")
        for each in ElementTree.fromstring(self.body).iter():
            if each.tag.endswith("}Key"):
                bucket.objects.pop(each.text, None)
        return 200, {}, element("DeleteResult").encode()

    # ---- lists

    def list_objects(self, bucket, _):
        query = self.query
        prefix, delimiter = query.get("prefix", ""), query.get("delimiter")
        most = min(int(query.get("max-keys", 1000)), self.server_.page)
        after = unquote(query.get("continuation-token", ""))
        rows, folders, last = [], set(), None
        for key in sorted(bucket.objects):
            if not key.startswith(prefix) or (after and key <= after):
                continue
            if len(rows) + len(folders) >= most:
                break
            last = key
            rest = key[len(prefix):]
            if delimiter and delimiter in rest:
                folders.add(prefix + rest.split(delimiter)[0] + delimiter)
                continue
            each = bucket.objects[key]
            rows.append(element("Contents", Key=quote(key, safe="/~"),
                                Size=len(each.body), ETag=f'"{each.etag}"',
                                LastModified=iso_time(each.modified)))
        more = any(key.startswith(prefix) and last and key > last and not
                   (delimiter and any(key.startswith(each) for each in folders))
                   for key in bucket.objects)
        head = {"IsTruncated": str(more).lower(), "EncodingType": "url"}
        if more:
            # Past all keys of a folder that has been listed.
            end = next((each for each in folders if last.startswith(each)), None)
            head["NextContinuationToken"] = quote(end + "\U0010ffff" if end else last)
        folds = [element("CommonPrefixes", Prefix=quote(each, safe="/~"))
                 for each in sorted(folders)]
        return 200, {}, element("ListBucketResult", *rows, *folds, **head).encode()

    def list_uploads(self, bucket, _):
        prefix = self.query.get("prefix", "")
        rows = [element("Upload", Key=each["key"], UploadId=upload,
                        Initiated=iso_time(each["started"]))
                for upload, each in bucket.uploads.items()
                if each["key"].startswith(prefix)]
        return 200, {}, element("ListMultipartUploadsResult", *rows,
                                IsTruncated="false").encode()

    # ---- uploads in parts

    def upload_of(self, bucket):
        found = bucket.uploads.get(self.query["uploadId"])
        if found is None:
            raise S3Error(404, "NoSuchUpload")
        return found

    def create_upload(self, bucket, key):
        upload = uuid.uuid4().hex
        headers = {}
        kind = self.headers.get("x-amz-checksum-type")
        if kind and self.server_.knows_checksums:
            headers["x-amz-checksum-type"] = kind
        bucket.uploads[upload] = {"key": key, "parts": {}, "started": time.time(),
                                  "type": headers.get("x-amz-checksum-type")}
        return 200, headers, element("InitiateMultipartUploadResult", Key=key,
                                     UploadId=upload).encode()

    def put_part(self, bucket, _):
        upload = self.upload_of(bucket)
        crc = self.check_body()
        made = upload["parts"][int(self.query["partNumber"])] = \
            Stored(self.body, self.new_etag(), crc)
        headers = {"ETag": f'"{made.etag}"'}
        if crc:
            headers["x-amz-checksum-crc32c"] = crc
        return 200, headers, b""

    def list_parts(self, bucket, _):
        after = int(self.query.get("part-number-marker", 0))
        rows = []
        for number, part in sorted(self.upload_of(bucket)["parts"].items()):
            crc = {"ChecksumCRC32C": part.crc} if part.crc else {}
            if number > after:
                rows.append(element("Part", PartNumber=number, ETag=f'"{part.etag}"',
                                    Size=len(part.body), **crc))
        return 200, {}, element("ListPartsResult", *rows, IsTruncated="false").encode()

    def complete_upload(self, bucket, key):
        upload = self.upload_of(bucket)
        if self.fault == "late":
            return 200, {}, b"\n \n" + element("Error", Code="InternalError").encode()
        named = [{each.tag.split("}")[-1]: each.text for each in part}
                 for part in ElementTree.fromstring(self.body)]
        numbers = [int(each["PartNumber"]) for each in named]
        if numbers != sorted(set(numbers)) or not numbers:
            raise S3Error(400, "InvalidPartOrder")
        parts = []
        for each, number in zip(named, numbers):
            part = upload["parts"].get(number)
            if part is None or part.etag != each["ETag"].strip('"') or \
                    part.crc != each.get("ChecksumCRC32C", part.crc):
                raise S3Error(400, "InvalidPart")
            parts.append(part)
        if any(len(part.body) < SMALLEST_PART for part in parts[:-1]):
            raise S3Error(400, "EntityTooSmall")
        if self.fault == "conflict":
            del bucket.uploads[self.query["uploadId"]]
            raise S3Error(409, "ConditionalRequestConflict")
        self.check_condition(bucket, key)
        crc = None
        if upload["type"] == "FULL_OBJECT":
            crc = join_crc32c([(part.crc, len(part.body)) for part in parts])
            if self.headers.get("x-amz-checksum-crc32c", crc) != crc:
                raise S3Error(400, "BadDigest")
        digests = b"".join(bytes.fromhex(part.etag[:32]) for part in parts)
        made = bucket.objects[key] = Stored(
            b"".join(part.body for part in parts),
            f"{hashlib.md5(digests).hexdigest()}-{len(parts)}", crc)
        del bucket.uploads[self.query["uploadId"]]
        return 200, {}, element("CompleteMultipartUploadResult", Key=key,
                                ETag=f'"{made.etag}"').encode()

    def abort(self, bucket, _):
        self.upload_of(bucket)
        del bucket.uploads[self.query["uploadId"]]
        return 204, {}, b""


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bucket", action="append")
    parser.add_argument("--botocore", action="store_true")
    parser.add_argument("--unchecked", action="store_true")
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("command", nargs=argparse.REMAINDER)
    line = parser.parse_args()
    command = line.command[1:] if line.command[:1] == ["--"] else line.command
    with Server(line.bucket or ("bucket",), line.botocore, line.port,
                not line.unchecked) as server:
        sys.exit(subprocess.run(command, env=server.environment()).returncode)


if __name__ == "__main__":
    main()
