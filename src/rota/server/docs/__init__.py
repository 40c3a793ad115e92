"""What the server says of itself: the OpenAPI document and the page that shows it."""
