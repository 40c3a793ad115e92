"""The dashboard: pages over the API's own answers. No page reads the store or holds a rule."""
