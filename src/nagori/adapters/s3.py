"""Files in a bucket of S3 or a server that speaks its protocol (MinIO, SeaweedFS, …), by signed requests.

    s3://bucket/prefix?endpoint=https://minio.example:9000&region=eu-central-1

Without `endpoint` it is Amazon's. The keys are read from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or from
the keyring under these names, for each request. Signatures are of version 4. Standard library only.
"""

from __future__ import annotations

import hmac
import re
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from hashlib import sha256
from html import unescape
from pathlib import Path
from tempfile import TemporaryDirectory
from urllib.parse import parse_qs, quote, urlsplit

from nagori.adapters.credentials import needed_key
from nagori.adapters.http import fetch
from nagori.core.value_object import Value, replace
from nagori.errors import InvalidInput, ModelError, StoreError

KEY_ID, SECRET = "AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY"  # names of variables
TIMEOUT = 60.0
SLOWEST = 1_000_000  # bytes in a second that a connection must carry
PAGE = 1000  # names in one answer
LARGEST = 1 << 30  # bytes of one file
_BUCKET = re.compile("[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]")
_KEY, _MORE = re.compile("<Key>([^<]*)</Key>"), re.compile("<NextContinuationToken>([^<]*)<")


class BucketAddress(Value):
    """Where a bucket is, and the beginning of the names in it."""

    endpoint: str
    region: str
    bucket: str
    prefix: str


def parse_bucket(address: str) -> BucketAddress:
    """The parts of `s3://bucket/prefix?endpoint=…&region=…`; InvalidInput if there is anything else in it."""
    parts = urlsplit(address)
    try:
        asked = parse_qs(parts.query, strict_parsing=bool(parts.query))
    except ValueError:
        raise InvalidInput("address", "error.not_bucket") from None
    options = {name: values[-1] for name, values in asked.items()}
    region = options.pop("region", "us-east-1")
    endpoint = options.pop("endpoint", f"https://s3.{region}.amazonaws.com").rstrip("/")
    known = _BUCKET.fullmatch(parts.netloc) and re.fullmatch("[a-z0-9-]+", region)
    if parts.scheme != "s3" or options or parts.fragment or not known or urlsplit(endpoint).path:
        raise InvalidInput("address", "error.not_bucket")
    return BucketAddress(endpoint, region, parts.netloc, parts.path.strip("/"))


def open_file(address: str) -> tuple[BucketFiles, str]:
    """The folder in a bucket, and the name, of the file `s3://bucket/prefix/name?endpoint=…`."""
    at = parse_bucket(address)
    prefix, _, name = at.prefix.rpartition("/")
    if not name:
        raise InvalidInput("address", "error.not_bucket")
    return BucketFiles(replace(at, prefix=prefix)), name


class BucketFiles:
    """The files below the prefix of a bucket."""

    def __init__(self, at: BucketAddress) -> None:
        self._at = at

    def names(self, folder: str) -> list[str]:
        """The names of the files in a folder, in order."""
        prefix, found, more = self._key(folder, ""), list[str](), ""
        while True:
            query = {"list-type": "2", "max-keys": str(PAGE), "prefix": prefix} | (
                {"continuation-token": more} if more else {}
            )
            answer = self._ask("GET", "", query).decode("utf-8", "replace")
            found += [unescape(key).removeprefix(prefix) for key in _KEY.findall(answer)]
            following = _MORE.search(answer)
            if following is None:
                return sorted(name for name in found if name and "/" not in name)
            more = unescape(following[1])

    def fetch(self, folder: str, names: Sequence[str], work: Path) -> list[Path]:
        """Copies of these files in `work`."""
        for name in names:
            (work / name).write_bytes(self._ask("GET", self._key(folder, name), largest=LARGEST))
        return [work / name for name in names]

    def put(self, folder: str, name: str, write: Callable[[Path], None]) -> None:
        """A file that `write` writes; it is there as a whole or not at all."""
        with TemporaryDirectory(prefix="nagori-") as work:
            path = Path(work) / name
            write(path)
            self.upload(folder, name, path)

    def upload(self, folder: str, name: str, path: Path) -> None:
        """A copy of a file of this machine. The server checks it by its digest, which is signed."""
        if (size := path.stat().st_size) > LARGEST:
            raise StoreError("error.bucket_file_too_large", size=size, most=LARGEST)
        self._ask("PUT", self._key(folder, name), body=path.read_bytes())

    def delete(self, folder: str, name: str) -> None:
        self._ask("DELETE", self._key(folder, name))

    def remove_folder(self, folder: str) -> None:
        """A bucket has no folders."""

    def _key(self, folder: str, name: str) -> str:
        return "".join(f"{part}/" for part in (self._at.prefix, folder) if part) + name

    def _ask(
        self,
        method: str,
        key: str,
        query: Mapping[str, str] | None = None,
        body: bytes = b"",
        largest: int = 0,
    ) -> bytes:
        at, now = self._at, datetime.now(UTC)
        path = f"/{at.bucket}/{quote(key, safe='/~')}" if key else f"/{at.bucket}"
        asked = "&".join(
            f"{quote(n, safe='~')}={quote(v, safe='~')}" for n, v in sorted((query or {}).items())
        )
        try:
            headers = sign_request(
                method,
                urlsplit(at.endpoint).netloc,
                path,
                asked,
                body,
                (needed_key(KEY_ID), needed_key(SECRET)),
                at.region,
                now,
            )
            url = f"{at.endpoint}{path}" + (f"?{asked}" if asked else "")
            timeout = TIMEOUT + max(len(body), largest) / SLOWEST
            return fetch(method, url, headers, body or None, timeout=timeout, most=LARGEST)
        except ModelError as fault:
            raise StoreError("error.bucket_failed", reason=fault.notice) from None


def sign_request(
    method: str,
    host: str,
    path: str,
    query: str,
    body: bytes,
    keys: tuple[str, str],
    region: str,
    now: datetime,
) -> dict[str, str]:
    """The headers of a signed request (AWS Signature Version 4)."""
    stamp, digest = now.strftime("%Y%m%dT%H%M%SZ"), sha256(body).hexdigest()
    headers = {"host": host, "x-amz-content-sha256": digest, "x-amz-date": stamp}
    names = ";".join(headers)
    lines = "".join(f"{name}:{value}\n" for name, value in headers.items())
    asked = "\n".join([method, path, query, lines, names, digest])
    scope = f"{stamp[:8]}/{region}/s3/aws4_request"
    signed = "\n".join(["AWS4-HMAC-SHA256", stamp, scope, sha256(asked.encode()).hexdigest()])
    key = f"AWS4{keys[1]}".encode()
    for part in (stamp[:8], region, "s3", "aws4_request"):
        key = hmac.new(key, part.encode(), sha256).digest()
    signature = hmac.new(key, signed.encode(), sha256).hexdigest()
    credential = f"Credential={keys[0]}/{scope}, SignedHeaders={names}, Signature={signature}"
    return {**headers, "authorization": f"AWS4-HMAC-SHA256 {credential}"}
