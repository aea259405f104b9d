"""Language models: chains of providers with fallback, typed tasks through chat, prices and cost estimates."""
