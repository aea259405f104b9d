"""What aiohttp raises, as the errors of httpx: plugins know these alone."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import httpx


@contextmanager
def as_httpx() -> Iterator[None]:
    """Raise aiohttp's errors as httpx's."""
    import aiohttp

    try:
        yield
    except aiohttp.ConnectionTimeoutError as error:
        raise httpx.ConnectTimeout("no connection in time") from error
    except aiohttp.ServerTimeoutError as error:
        raise httpx.ReadTimeout("no answer in time") from error
    except aiohttp.ClientConnectorError as error:
        raise httpx.ConnectError(str(error.os_error)) from error
    except (aiohttp.NonHttpUrlClientError, aiohttp.InvalidURL) as error:
        raise httpx.UnsupportedProtocol(f"{error} is no address of the web") from error
    except aiohttp.ClientPayloadError as error:  # whose text is of the encoding of the transfer
        raise httpx.RemoteProtocolError("the answer ended in the middle") from error
    except aiohttp.ServerDisconnectedError as error:
        raise httpx.RemoteProtocolError("the server closed the connection") from error
    except aiohttp.http.HttpProcessingError as error:  # of the parser in Python; the compiled one hides it
        raise httpx.RemoteProtocolError(f"what came is not HTTP: {error.message}") from error
    except aiohttp.ClientResponseError as error:
        raise httpx.RemoteProtocolError(f"the answer is not HTTP: {error.message}") from error
    except RuntimeError as error:
        if str(error) != "Connection closed.":
            raise
        raise httpx.RemoteProtocolError("it was closed") from error
    except ValueError as error:  # of a header
        raise httpx.LocalProtocolError(str(error)) from error
    except (aiohttp.ClientError, OSError) as error:
        raise httpx.ReadError(f"{type(error).__name__}: {error}".removesuffix(": ")) from error
