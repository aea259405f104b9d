from email import message_from_bytes, policy

from leadline.parsing import parse_in_worker
from leadline.plugin import Blob, Call, Document, parser


@parser("E-mail (.eml)")
class Mail:
    def accepts(self, media_type: str, /) -> bool:
        return media_type.partition(";")[0] == "message/rfc822"

    async def parse(self, blob: Blob, call: Call, /) -> Document:
        return await parse_in_worker(read, blob)


def read(blob: Blob) -> Document:
    message = message_from_bytes(blob.data, policy=policy.default)
    body = message.get_body(("plain",))
    return Document(title=message.get("Subject", blob.name), text=body.get_content() if body else "")
