"""Checks AWS Signature Version 4 and computes CRC32C, independently of the
program under test: by botocore if the server is told so and it is installed, else as
the Amazon S3 API Reference describes it."""

import base64
import calendar
import hashlib
import hmac
import importlib.util
import re
import struct
import time
from urllib.parse import quote, unquote

HAS_BOTOCORE = importlib.util.find_spec("botocore") is not None
LARGEST_SKEW = 15 * 60


class SignatureError(Exception):
    def __init__(self, status, code, message="", **more):
        super().__init__(code)
        self.status, self.code = status, code
        self.message, self.more = message or code, more


def canonical_query(raw):
    pairs = [part.partition("=") for part in raw.split("&") if part]
    coded = sorted((quote(unquote(name), safe="-_.~"), quote(unquote(value), safe="-_.~"))
                   for name, _, value in pairs)
    return "&".join(f"{name}={value}" for name, value in coded)


def own_signature(method, target, headers, signed, scope, secret, stamp):
    path, _, query = target.partition("?")
    lines = "".join(f"{name}:{' '.join((headers.get(name) or '').split())}\n"
                    for name in signed)
    canonical = "\n".join([method, quote(unquote(path), safe="-_.~/"),
                           canonical_query(query), lines, ";".join(signed),
                           headers["x-amz-content-sha256"]])
    text = "\n".join(["AWS4-HMAC-SHA256", stamp, "/".join(scope),
                      hashlib.sha256(canonical.encode()).hexdigest()])
    key = ("AWS4" + secret).encode()
    for part in scope:
        key = hmac.new(key, part.encode(), hashlib.sha256).digest()
    return hmac.new(key, text.encode(), hashlib.sha256).hexdigest()


def botocore_signature(method, target, headers, signed, scope, secret, stamp):
    from botocore.auth import S3SigV4Auth
    from botocore.awsrequest import AWSRequest
    from botocore.credentials import Credentials
    kept = {name: headers[name] for name in signed}
    kept.setdefault("x-amz-content-sha256", headers["x-amz-content-sha256"])
    request = AWSRequest(method, f"http://{headers['host']}{target}", kept)
    request.context["timestamp"] = stamp
    signer = S3SigV4Auth(Credentials("key", secret), scope[2], scope[1])
    text = signer.string_to_sign(request, signer.canonical_request(request))
    return signer.signature(text, request)


def check_signature(server, request):
    headers = request.headers
    given = headers.get("authorization") or ""
    found = re.fullmatch(r"AWS4-HMAC-SHA256 Credential=([^/]+)/(\d{8})/([^/]+)/(\w+)/"
                         r"aws4_request, ?SignedHeaders=([^,]+), ?Signature=(\w{64})",
                         given)
    if not found:
        raise SignatureError(403, "AccessDenied", "The request is not signed")
    access, date, region, service, names, signature = found.groups()
    if service == "s3" and headers.get("x-amz-content-sha256") is None:
        raise SignatureError(400, "MissingSecurityHeader")
    stamp = headers.get("x-amz-date") or ""
    if access not in server.keys:
        raise SignatureError(403, "InvalidAccessKeyId",
                             f"The key {access} does not exist in our records.")
    secret, token = server.keys[access]
    if access in server.expired:
        raise SignatureError(400, "ExpiredToken", "The provided token has expired.")
    if (headers.get("x-amz-security-token") or "") != token:
        raise SignatureError(403, "InvalidToken")
    signed_at = calendar.timegm(time.strptime(stamp, "%Y%m%dT%H%M%SZ"))
    if abs(signed_at - server.now()) > LARGEST_SKEW:
        raise SignatureError(403, "RequestTimeTooSkewed",
                             "The difference between the request time and the "
                             "current time is too large.")
    signed = names.split(";")
    needed = {"host"} | {name.lower() for name in headers
                         if name.lower().startswith("x-amz-")}
    if not needed <= set(signed) or not stamp.startswith(date):
        raise SignatureError(403, "AccessDenied", "There were headers that are not signed")
    if server.region and region != server.region:
        raise SignatureError(400, "AuthorizationHeaderMalformed", f"expecting {server.region}")
    compute = botocore_signature if server.botocore and HAS_BOTOCORE else own_signature
    expected = compute(request.command, request.path, headers, signed,
                       [date, region, service, "aws4_request"], secret, stamp)
    if expected != signature:
        # S3 repeats what it has signed, with the token among the headers.
        raise SignatureError(403, "SignatureDoesNotMatch", "The request signature we "
                             f"calculated does not match, {token}",
                             AWSAccessKeyId=access)


# ---- CRC32C

POLYNOMIAL = 0x82F63B78


def table():
    values = []
    for value in range(256):
        for _ in range(8):
            value = value >> 1 ^ (POLYNOMIAL if value & 1 else 0)
        values.append(value)
    return values


TABLE = table()


def crc32c(data):
    value = 0xFFFFFFFF
    for byte in data:
        value = value >> 8 ^ TABLE[(value ^ byte) & 255]
    return value ^ 0xFFFFFFFF


def text_of(value):
    return base64.b64encode(struct.pack(">I", value)).decode()


def crc32c_text(data):
    return text_of(crc32c(data))


def multiply(a, b):
    """The product of polynomials modulo that of CRC32C, bits reversed."""
    product = 0
    for bit in range(31, -1, -1):
        if a >> bit & 1:
            product ^= b
        b = b >> 1 ^ (POLYNOMIAL if b & 1 else 0)
    return product


def join_crc32c(parts):
    """The text of the CRC32C of all parts, from their texts and sizes."""
    value = 0
    for text, size in parts:
        power, base, count = 1 << 31, 1 << 30, 8 * size  # x^(8 size)
        while count:
            if count & 1:
                power = multiply(power, base)
            base = multiply(base, base)
            count >>= 1
        value = multiply(value, power) ^ struct.unpack(">I", base64.b64decode(text))[0]
    return text_of(value)
