"""The floor of the benchmarks: a Tornado RequestHandler that does nothing, over the same TLS."""

from __future__ import annotations

import asyncio
import gc
import ssl
import sys

from tornado.httpserver import HTTPServer
from tornado.web import Application, RequestHandler


class Nothing(RequestHandler):
    """Answers a constant."""

    def post(self) -> None:
        """Answer."""
        self.write(b'{"response":{"allowed":true}}')


async def main(port: int, certificate: str, key: str) -> None:
    """Serve until ended."""
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    context.load_cert_chain(certificate, key)
    application = Application([("/mutate", Nothing)], log_function=lambda handler: None)
    HTTPServer(application, ssl_options=context).listen(port, "127.0.0.1")
    gc.collect()
    gc.freeze()
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), sys.argv[2], sys.argv[3]))
