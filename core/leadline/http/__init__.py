"""HTTP for the clients that the house lends: httpx, spoken by aiohttp where that is installed."""
