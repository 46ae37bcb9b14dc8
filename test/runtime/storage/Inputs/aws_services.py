"""The services of AWS that give credentials, for the tests: STS, the metadata of
an instance (IMDSv2) and a container's agent. Each answer has new keys, which the
S3 server then accepts, valid for `seconds`."""

import json
import time
from urllib.parse import parse_qs
from xml.sax.saxutils import escape


class Services:
    def __init__(self, server):
        self.server = server
        self.seconds = 3600
        self.web_token = "web-identity-token"
        self.agent_token = "agent-token"
        self.given = []  # access keys, in order

    def make_keys(self):
        number = len(self.given)
        access, secret = f"ASIATEMP{number:08d}", f"temporary/secret{number:08d}"
        token = f"session-token/{number:08d}=="
        self.given.append(access)
        self.server.keys[access] = (secret, token)
        end = time.strftime("%Y-%m-%dT%H:%M:%SZ",
                            time.gmtime(time.time() + self.seconds))
        return access, secret, token, end

    def json_keys(self):
        access, secret, token, end = self.make_keys()
        text = json.dumps({"Code": "Success", "AccessKeyId": access, "Token": token,
                           "SecretAccessKey": secret, "Expiration": end})
        return 200, {}, text.encode()

    def answer(self, request):
        """The answer to a request of these services, or None."""
        path = request.path
        with self.server.lock:
            if request.command == "POST" and path == "/":
                return self.sts(request)
            if path.startswith("/latest/"):
                return self.instance(request, path.removeprefix("/latest/"))
            if path == "/credentials":
                if request.headers.get("Authorization") != self.agent_token:
                    return 403, {}, b""
                return self.json_keys()
        return None

    def sts(self, request):
        form = {name: values[0] for name, values in
                parse_qs(request.body.decode()).items()}
        action = form.get("Action", "")
        if action == "AssumeRoleWithWebIdentity" and \
                form.get("WebIdentityToken") != self.web_token:
            return 400, {}, (b"<ErrorResponse><Error><Code>InvalidIdentityToken</Code>"
                             b"</Error></ErrorResponse>")
        access, secret, token, end = self.make_keys()
        text = (f"<{action}Response><{action}Result><Credentials>"
                f"<AccessKeyId>{access}</AccessKeyId>"
                f"<SecretAccessKey>{secret}</SecretAccessKey>"
                f"<SessionToken>{escape(token)}</SessionToken>"
                f"<Expiration>{end}</Expiration>"
                f"</Credentials></{action}Result></{action}Response>")
        return 200, {}, text.encode()

    def instance(self, request, path):
        if request.command == "PUT" and path == "api/token":
            if not request.headers.get("x-aws-ec2-metadata-token-ttl-seconds"):
                return 400, {}, b""
            return 200, {}, b"imds-token\n"
        if request.headers.get("x-aws-ec2-metadata-token") != "imds-token":
            return 401, {}, b""
        roles = "meta-data/iam/security-credentials/"
        if path == roles:
            return 200, {}, b"the-role\n"
        if path == roles + "the-role":
            return self.json_keys()
        return 404, {}, b""
