"""One run from request to outcome."""
